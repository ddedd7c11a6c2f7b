import { bytesRule, checkArgument } from '../base/attributes/options.js';
import { decodeSafetensors, encodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import { arrayType } from '../front/core/array-type.js';
import { arrayOf, type NDArray } from '../front/core/ndarray.js';
import { replaceFile } from './files.js';
import type { Parameter } from './parameter.js';
import { assignMapped, type LoadParametersOptions, type LoadReport } from './parameter-map.js';

/** An array as a tensor of a file. */
export function toFileTensor(array: NDArray): FileTensor {
  return { dtype: array.dtype, shape: array.shape, data: array.storage.host.slice() };
}

/** Arrays as tensors of a file, all as they are now, from devices that answer later, too. */
export async function readTensors(
  arrays: Iterable<readonly [string, NDArray]>,
): Promise<ReadonlyMap<string, FileTensor>> {
  const reads = [...arrays].map(([name, { dtype, shape, storage }]) => ({
    name,
    dtype,
    shape,
    elements: storage.read(),
  }));
  // All have been asked for before the first is waited for.
  const all = await Promise.all(reads.map(({ elements }) => elements));
  return new Map(reads.map(({ name, dtype, shape }, k) => [name, { dtype, shape, data: all[k] }]));
}

/** A tensor of a file as an array. */
export function fromFileTensor(tensor: FileTensor): NDArray {
  return arrayOf(arrayType(tensor.dtype, tensor.shape), tensor.data);
}

/**
 * The values of all parameters; refuses parameters without a value, because the file could not be loaded
 * again.
 */
export function parameterValues(
  parameters: ReadonlyMap<string, Parameter>,
): readonly (readonly [string, NDArray])[] {
  return [...parameters].map(([name, parameter]) => [name, parameter.value]);
}

/** Arrays as tensors of a file. */
export function toFileTensors(
  arrays: Iterable<readonly [string, NDArray]>,
): ReadonlyMap<string, FileTensor> {
  return new Map([...arrays].map(([name, array]) => [name, toFileTensor(array)]));
}

/** The tensors of a file as arrays. */
export function fromFileTensors(
  tensors: ReadonlyMap<string, FileTensor>,
): ReadonlyMap<string, NDArray> {
  return new Map([...tensors].map(([name, tensor]) => [name, fromFileTensor(tensor)]));
}

export function parametersToSafetensors(parameters: ReadonlyMap<string, Parameter>): Uint8Array {
  const tensors = toFileTensors(parameterValues(parameters));
  return encodeSafetensors({ tensors, metadata: new Map() });
}

export function parametersFromSafetensors(
  bytes: Uint8Array,
  parameters: ReadonlyMap<string, Parameter>,
  options?: LoadParametersOptions,
): LoadReport {
  checkArgument('fromSafetensors', 'bytes', bytes, bytesRule);
  const { tensors } = decodeSafetensors(bytes);
  return assignMapped('fromSafetensors', parameters, fromFileTensors(tensors), options);
}

export async function saveParameterFile(
  path: string | URL,
  parameters: ReadonlyMap<string, Parameter>,
): Promise<void> {
  const tensors = await readTensors(parameterValues(parameters));
  await replaceFile('saveParameters', path, encodeSafetensors({ tensors, metadata: new Map() }));
}
