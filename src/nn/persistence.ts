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

/** A tensor of a file as an array. */
export function fromFileTensor(tensor: FileTensor): NDArray {
  return arrayOf(arrayType(tensor.dtype, tensor.shape), tensor.data);
}

/**
 * The tensors of all parameters; refuses parameters without a value, because the file could not be loaded
 * again.
 */
export function parameterTensors(
  parameters: ReadonlyMap<string, Parameter>,
): ReadonlyMap<string, FileTensor> {
  return new Map([...parameters].map(([name, parameter]) => [name, toFileTensor(parameter.value)]));
}

/** The tensors of a file as arrays. */
export function fromFileTensors(
  tensors: ReadonlyMap<string, FileTensor>,
): ReadonlyMap<string, NDArray> {
  return new Map([...tensors].map(([name, tensor]) => [name, fromFileTensor(tensor)]));
}

export function parametersToSafetensors(parameters: ReadonlyMap<string, Parameter>): Uint8Array {
  return encodeSafetensors({ tensors: parameterTensors(parameters), metadata: new Map() });
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
  await replaceFile('saveParameters', path, parametersToSafetensors(parameters));
}
