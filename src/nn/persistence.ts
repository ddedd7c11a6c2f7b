import { FormatError } from '../base/errors.js';
import { bytesRule, checkArgument } from '../base/options.js';
import { decodeSafetensors, encodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import { arrayType } from '../front/arraytype.js';
import { arrayOf, type NDArray } from '../front/ndarray.js';
import { readFile, replaceFile } from './files.js';
import type { Parameter } from './parameter.js';

/** An array as a tensor of a file. */
export function toFileTensor(array: NDArray): FileTensor {
  return { dtype: array.dtype, shape: array.shape, data: array.storage.host.slice() };
}

/** A tensor of a file as an array. */
export function fromFileTensor(tensor: FileTensor): NDArray {
  return arrayOf(arrayType(tensor.dtype, tensor.shape), tensor.data);
}

/** The tensors of all parameters that have a value; one without is an error, for the file would be a trap. */
export function parameterTensors(
  parameters: ReadonlyMap<string, Parameter>,
): ReadonlyMap<string, FileTensor> {
  return new Map([...parameters].map(([name, parameter]) => [name, toFileTensor(parameter.value)]));
}

/**
 * Gives every parameter its tensor of that name. All are checked before the first one changes.
 *
 * @param op On whose behalf, for messages.
 */
export function assignParameters(
  op: string,
  parameters: ReadonlyMap<string, Parameter>,
  tensors: ReadonlyMap<string, FileTensor>,
): void {
  for (const [name, parameter] of parameters) {
    const tensor = tensors.get(name);
    if (tensor === undefined) {
      throw new FormatError(`the file has no parameter ${name}`, {
        op,
        expected: [...parameters.keys()].join(', '),
        actual: [...tensors.keys()].join(', '),
      });
    }
    const fits =
      tensor.dtype === parameter.dtype &&
      tensor.shape.length === parameter.shape.length &&
      tensor.shape.every((extent, axis) => (parameter.shape[axis] ?? extent) === extent);
    if (!fits) {
      throw new FormatError(`parameter ${name} of the file is of another type`, {
        op,
        expected: `${parameter.dtype}${parameter.shapeText}`,
        actual: `${tensor.dtype}[${tensor.shape.join(', ')}]`,
      });
    }
  }
  for (const [name, parameter] of parameters) parameter.assign(fromFileTensor(tensors.get(name)!));
}

export function parametersToSafetensors(parameters: ReadonlyMap<string, Parameter>): Uint8Array {
  return encodeSafetensors({ tensors: parameterTensors(parameters), metadata: new Map() });
}

export function parametersFromSafetensors(
  bytes: Uint8Array,
  parameters: ReadonlyMap<string, Parameter>,
): void {
  checkArgument('fromSafetensors', 'bytes', bytes, bytesRule);
  assignParameters('fromSafetensors', parameters, decodeSafetensors(bytes).tensors);
}

export async function saveParameterFile(
  path: string,
  parameters: ReadonlyMap<string, Parameter>,
): Promise<void> {
  await replaceFile('saveParameters', path, parametersToSafetensors(parameters));
}

export async function loadParameterFile(
  path: string,
  parameters: ReadonlyMap<string, Parameter>,
): Promise<void> {
  const op = 'loadParameters';
  assignParameters(op, parameters, decodeSafetensors(await readFile(op, path)).tensors);
}
