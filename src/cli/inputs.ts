import { extname } from 'node:path';
import { inContext, KaonError } from '../base/errors.js';
import { decodeNpy } from '../formats/npy.js';
import { decodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import { arrayType } from '../front/core/array-type.js';
import { arrayOf, type NDArray } from '../front/core/ndarray.js';
import type { HostValue } from '../ir/host.js';
import { readBytes } from './graphs.js';
import { UsageError } from './usage.js';

/** Arrays and numbers, by the names of inputs. */
export type Inputs = Readonly<Record<string, NDArray | HostValue>>;

/** Parses the values of `--input`. */
export async function readInputs(texts: readonly string[]): Promise<Inputs> {
  const inputs = new Map<string, NDArray | HostValue>();
  for (const text of texts) {
    for (const [name, value] of Object.entries(await readInput(text))) {
      if (inputs.has(name)) throw new UsageError(`--input ${text}: input ${name} is given twice`);
      inputs.set(name, value);
    }
  }
  return Object.fromEntries(inputs);
}

async function readInput(text: string): Promise<Inputs> {
  const split = text.indexOf('=');
  const [name, value] = split < 0 ? [null, text] : [text.slice(0, split), text.slice(split + 1)];
  const extension = extname(value);
  if (extension === '.npy') {
    if (name === null) throw new UsageError(`--input ${text}: name the input: NAME=${text}`);
    return { [name]: toArray(await decoded(value, decodeNpy)) };
  }
  if (extension === '.safetensors') {
    const { tensors } = await decoded(value, decodeSafetensors);
    if (name === null) return Object.fromEntries([...tensors].map(([key, tensor]) => [key, toArray(tensor)])); // prettier-ignore
    const tensor = tensors.get(name);
    if (tensor !== undefined) return { [name]: toArray(tensor) };
    throw new UsageError(`--input ${text}: the file holds ${[...tensors.keys()].join(', ')}`);
  }
  const given = name === null ? undefined : numbers(value);
  if (given !== undefined) return { [name!]: given };
  throw new UsageError(
    `--input ${text}: give NAME=FILE.npy, NAME=FILE.safetensors, FILE.safetensors, or NAME=VALUE`,
  );
}

/** A number, a truth value, or nested lists of them; undefined for anything else. */
function numbers(text: string): HostValue | undefined {
  const isNumbers = (value: unknown): value is HostValue =>
    Array.isArray(value) ? value.every(isNumbers) : /^(number|boolean)$/.test(typeof value);
  try {
    const value: unknown = JSON.parse(text);
    return isNumbers(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function decoded<R>(path: string, decode: (bytes: Uint8Array) => R): Promise<R> {
  const bytes = await readBytes(path);
  try {
    return decode(bytes);
  } catch (error) {
    if (!(error instanceof KaonError)) throw error;
    throw inContext(error, path, { op: error.op ?? 'readInputs' });
  }
}

function toArray({ dtype, shape, data }: FileTensor): NDArray {
  return arrayOf(arrayType(dtype, shape), data);
}
