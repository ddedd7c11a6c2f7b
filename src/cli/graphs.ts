import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FormatError, inContext, KaonError } from '../base/errors.js';
import { StaticGraph } from '../front/graphs/static-graph.js';
import { FileError } from './usage.js';

/** Reads a graph, Kaon's or ONNX, from a file or the standard input. */
export async function readGraph(
  path: string,
  { read }: { read(): Promise<Uint8Array> },
): Promise<StaticGraph> {
  const isStandard = path === '-';
  const bytes = isStandard ? await read() : await readBytes(path);
  try {
    if (!beginsAsJSON(bytes)) {
      // Loaded lazily: ONNX needs an optional package.
      const { fromOnnx } = await import('../onnx.js');
      return fromOnnx(bytes, isStandard ? {} : { externalData: dirname(path) });
    }
    return StaticGraph.fromJSON(parsed(bytes));
  } catch (error) {
    if (!(error instanceof KaonError)) throw error;
    throw inContext(error, isStandard ? 'standard input' : path, { op: error.op ?? 'readGraph' });
  }
}

/** ONNX models begin with a field number, which no JSON text does. */
function beginsAsJSON(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => !' \t\r\n'.includes(String.fromCharCode(byte)));
  return first === undefined || first >= 0x20;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new FormatError('this is neither a graph of Kaon nor a model of ONNX', {
      op: 'readGraph',
      expected: 'what JSON.stringify(graph.toJSON()) gives, or an ONNX model',
      actual: (cause as Error).message,
      cause,
    });
  }
}

/** @throws FileError for a missing path or one that is not a file. */
export async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new FileError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** @throws FileError for a file that cannot be written. */
export async function writeContent(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeFile(path, content);
  } catch (cause) {
    throw new FileError(`${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
