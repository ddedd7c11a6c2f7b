import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { decodeNpy, encodeNpy } from '../formats/npy.js';
import { decodeSafetensors, encodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import { arrayType } from '../front/arraytype.js';
import { arrayOf, type NDArray } from '../front/ndarray.js';
import type { StaticGraph } from '../front/staticgraph.js';
import { readBytes } from './graphs.js';
import { UsageError } from './usage.js';

/** Runs a graph on arrays from files; `inputs` are `NAME=FILE`, or files that hold arrays by name. */
export async function runGraph(
  graph: StaticGraph,
  inputs: readonly string[],
): Promise<Readonly<Record<string, NDArray>>> {
  const feeds: Record<string, NDArray> = {};
  for (const input of inputs) Object.assign(feeds, await readFeeds(input));
  return graph.run(feeds);
}

async function readFeeds(input: string): Promise<Readonly<Record<string, NDArray>>> {
  const split = input.indexOf('=');
  const [name, path] = split < 0 ? [null, input] : [input.slice(0, split), input.slice(split + 1)];
  const bytes = await readBytes(path);
  if (extname(path) === '.npy') {
    if (name === null) throw new UsageError(`--input ${path}: say which input it is, NAME=${path}`);
    return { [name]: toArray(decodeNpy(bytes)) };
  }
  if (extname(path) !== '.safetensors') {
    throw new UsageError(`--input ${path}: inputs are read from .npy and .safetensors files`);
  }
  const { tensors } = decodeSafetensors(bytes);
  if (name === null) return Object.fromEntries([...tensors].map(([key, tensor]) => [key, toArray(tensor)])); // prettier-ignore
  const tensor = tensors.get(name);
  if (tensor === undefined) {
    throw new UsageError(`--input ${input}: the file holds ${[...tensors.keys()].join(', ')}`);
  }
  return { [name]: toArray(tensor) };
}

/** Writes outputs: all to .safetensors, a single one to .npy. */
export async function writeOutputs(
  path: string,
  outputs: Readonly<Record<string, NDArray>>,
): Promise<void> {
  const tensors = new Map(Object.entries(outputs).map(([name, array]) => [name, stored(array)]));
  if (extname(path) === '.safetensors') {
    return writeFile(path, encodeSafetensors({ tensors, metadata: new Map() }));
  }
  const [first] = tensors.values();
  if (extname(path) !== '.npy' || tensors.size !== 1) {
    throw new UsageError(
      `--out ${path}: outputs are written to .safetensors, or a single one to .npy`,
    );
  }
  return writeFile(path, encodeNpy(first));
}

function toArray({ dtype, shape, data }: FileTensor): NDArray {
  return arrayOf(arrayType(dtype, shape), data);
}

function stored({ dtype, shape, storage }: NDArray): FileTensor {
  return { dtype, shape, data: storage.host };
}
