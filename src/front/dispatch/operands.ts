import { BoundedCache } from '../../base/bounded-cache.js';
import type { DType } from '../../base/dtype.js';
import { isFloat } from '../../base/dtype.js';
import { hostConstant, type HostValue } from '../../ir/host.js';
import { type Call, type Declaration } from '../../ops/declare/declare.js';
import { operandDTypes, withSizesAsArrays } from '../../ops/declare/convert.js';
import { readValue } from './absent-values.js';
import { mode } from '../core/mode.js';
import { arrayOf, NDArray } from '../core/ndarray.js';
import { arrayType } from '../core/array-type.js';
import { isNumberArray, numberKinds } from './number-arrays.js';

/** Operands of a call: arrays, each with the dtype that it has to be converted to. */
export interface Operands {
  readonly arrays: readonly NDArray[];
  /** Null where every array already has its dtype. */
  readonly dtypes: readonly DType[] | null;
}

/** Plain data and sizes become arrays; which dtypes are wanted is the declaration's rule. */
export function operandsOf(declaration: Declaration, given: Call): Operands {
  const quick = quickly(declaration, given.inputs as readonly (NDArray | HostValue)[]);
  if (quick !== null) return { arrays: quick, dtypes: null };
  // Eager code has no such values.
  const read =
    mode.capture === null
      ? given
      : { ...given, inputs: given.inputs.map(readValue) as typeof given.inputs };
  const call = withSizesAsArrays(declaration, read);
  const inputs = call.inputs as readonly (NDArray | HostValue)[];
  const isKept = mode.capture === null || declaration.operands === 'keep';
  const weak = isKept ? undefined : numberKinds(inputs);
  const wanted = operandDTypes(declaration, call, weak);
  // A fraction is no position, whatever stands for it.
  const isFraction = (k: number): boolean =>
    weak?.(inputs[k]) === 'weak-float' && !isFloat(wanted[k]);
  const dtypes = weak === undefined ? wanted : wanted.map((dtype, k) => isFraction(k) ? (inputs[k] as NDArray).dtype : dtype); // prettier-ignore
  let converts = false;
  const arrays = inputs.map((input, i) => {
    if (!(input instanceof NDArray)) return constantArray(input, dtypes[i], declaration.name);
    if (input.dtype !== dtypes[i]) converts = true;
    return input;
  });
  return { arrays, dtypes: converts ? dtypes : null };
}

/** The common cases, in which the rule's answer is plain: arrays of one dtype, and numbers beside floats. */
function quickly(
  { operands }: Declaration,
  inputs: readonly (NDArray | HostValue)[],
): readonly NDArray[] | null {
  if (typeof operands === 'function' || inputs.length === 0) return null;
  let dtype: DType | undefined;
  let hasNumbers = false;
  for (const input of inputs) {
    if (typeof input === 'number') hasNumbers = true;
    else if (!(input instanceof NDArray)) return null;
    else if (mode.capture !== null && operands !== 'keep' && isNumberArray(input)) return null;
    else if (dtype === undefined) dtype = input.dtype;
    else if (dtype !== input.dtype && operands !== 'keep') return null;
  }
  if (dtype === undefined) return null;
  if (!hasNumbers) {
    return operands === 'float' && !isFloat(dtype) ? null : (inputs as readonly NDArray[]);
  }
  if (operands === 'keep' || !isFloat(dtype)) return null;
  const arrays: NDArray[] = [];
  for (const input of inputs) {
    arrays.push(typeof input === 'number' ? scalarArray(input, dtype) : (input as NDArray));
  }
  return arrays;
}

const scalars = new Map<DType, BoundedCache<number, NDArray>>();
const scalarCapacity = 256;

/** A rank-0 array of a number. Shared between calls, which is safe because nobody else ever sees it. */
function scalarArray(value: number, dtype: DType): NDArray {
  let known = scalars.get(dtype);
  if (known === undefined) {
    known = new BoundedCache<number, NDArray>({ capacity: scalarCapacity });
    scalars.set(dtype, known);
  }
  // A Map takes 0 and -0 for one key.
  const isNegativeZero = value === 0 && Object.is(value, -0);
  let array = isNegativeZero ? undefined : known.peek(value);
  if (array === undefined) {
    array = constantArray(value, dtype);
    if (isNegativeZero) return array;
    array.isShared = true;
    known.set(value, array);
  }
  return array;
}

/** Plain data as an array that a capture keeps as a constant. */
export function constantArray(value: HostValue, dtype: DType, op?: string): NDArray {
  const { type, data } = hostConstant(value, dtype, op);
  const array = arrayOf(arrayType(type.dtype, type.shape), data);
  array.isConstant = true;
  return array;
}
