import { writeFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { toC, toModule } from '../artifact/index.js';
import type { StaticGraph } from '../front/staticgraph.js';
import { printProgram } from '../ir/text.js';
import { UsageError } from './usage.js';

/** Writes a graph in the form that a file's name asks for; returns the files that were written. */
export async function convert(
  graph: StaticGraph,
  path: string,
  train: boolean,
): Promise<readonly string[]> {
  const extension = extname(path);
  const written: string[] = [];
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(file, text);
    written.push(file);
  };
  switch (extension) {
    case '.mjs':
    case '.js':
      await write(path, toModule(graph, { train }));
      break;
    case '.c': {
      const { source, header } = toC(graph, { name: basename(path, extension), train });
      await write(path, source);
      await write(`${path.slice(0, -2)}.h`, header);
      break;
    }
    case '.json':
      await write(path, JSON.stringify(graph.toJSON()));
      break;
    case '.txt':
      await write(path, printProgram(graph.program));
      break;
    default:
      throw new UsageError(`${path}: graphs are converted to .mjs, .c, .json and .txt`);
  }
  return written;
}
