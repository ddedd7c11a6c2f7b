import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { UsageError } from './usage.js';
import { FormatError } from '../base/errors.js';
import { StaticGraph } from '../front/staticgraph.js';

/** The graph in a file: of Kaon, or of ONNX. */
export async function readGraph(path: string): Promise<StaticGraph> {
  const bytes = await readBytes(path);
  if (extname(path) === '.onnx') {
    // What ONNX needs is loaded where it is needed.
    const { fromOnnx } = await import('../onnx.js');
    return fromOnnx(bytes, { externalData: dirname(path) });
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new FormatError(`${path} is no graph`, {
      op: 'kaon',
      expected: 'what JSON.stringify(graph.toJSON()) gives',
      actual: (cause as Error).message,
      cause,
    });
  }
  return StaticGraph.fromJSON(json);
}

/** @throws UsageError for a file that is not there. */
export async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
