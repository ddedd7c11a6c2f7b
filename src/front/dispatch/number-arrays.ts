import { describeAs } from '../../base/attributes/attribute.js';
import { type DType, isFloat, type WeakKind } from '../../base/dtype.js';
import { NDArray } from '../core/ndarray.js';

/*
 * Numbers and booleans of the user's that captured branches and loops assign are arrays of rank 0. To
 * TypeScript they are still numbers.
 */

const numbers = new WeakSet<NDArray>();

/** Says that an array stands for a number or boolean of the user's. */
export function asNumber(value: NDArray): NDArray {
  numbers.add(value);
  describeAs(value, 'a number that a captured array decides, which has no value yet');
  return value;
}

/** True if a value is an array that stands for a number or boolean. */
export function isNumberArray(value: unknown): value is NDArray {
  // Nothing of the value is asked: it may be a proxy.
  return typeof value === 'object' && value !== null && numbers.has(value as NDArray);
}

/** True while an operator of JavaScript computes. */
let isOperator = false;

/** Runs an operator of JavaScript on such arrays: it has the dtypes of arrays, so that integers are exact. */
export function byDTypes<R>(operator: () => R): R {
  const before = isOperator;
  isOperator = true;
  try {
    return operator();
  } finally {
    isOperator = before;
  }
}

/**
 * The kinds of operands that stand for numbers: among themselves and beside arrays of numbers they are as weak as
 * other numbers, unless those are too narrow to hold them for sure. Undefined where no operand is weak.
 */
export function numberKinds(
  operands: readonly unknown[],
): ((operand: unknown) => WeakKind | null) | undefined {
  if (isOperator || !operands.some(isNumberArray)) return undefined;
  const isArray = (each: unknown): each is NDArray =>
    each instanceof NDArray && !isNumberArray(each);
  if (operands.some((each) => isArray(each) && isNarrow(each.dtype))) return undefined;
  return (operand) => {
    if (!isNumberArray(operand) || operand.dtype === 'bool') return null;
    return isFloat(operand.dtype) ? 'weak-float' : 'weak-int';
  };
}

const isNarrow = (dtype: DType): boolean => dtype === 'int8' || dtype === 'uint8';
