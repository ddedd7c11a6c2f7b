import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ElementType } from '../elements.js';

/*
 * Arithmetic on integers that Kaon lacks. They lie in a wider dtype that holds their values, so a result is
 * brought back into their range; uint64 lies in the bits of int64, where only what depends on the order of
 * values, or on their size, is different.
 */

const isUint64 = ({ name }: ElementType): boolean => name === 'uint64';

/** Wraps a result to the range of its element type in two's complement. */
export function wrappedInteger(element: ElementType, x: Value): Value {
  if (element.isOwn || element.narrow !== undefined || element.bits === 64) return x;
  const all = 2 ** element.bits - 1;
  // In a wide dtype: half of the range would overflow a narrow one.
  if (element.isSigned !== true) return ops.bitwiseAnd(x, all);
  const half = 2 ** (element.bits - 1);
  return ops.sub(ops.bitwiseAnd(ops.add(x, half), all), half);
}

/** Maps the bits of uint64 to int64 so that the order is preserved. */
export function ordered(element: ElementType, x: Value): Value {
  if (!isUint64(element)) return x;
  return ops.bitwiseXor(x, x.program.constant(lowest));
}

const lowest = {
  type: { dtype: 'int64', shape: [] },
  data: BigInt64Array.of(-(2n ** 63n)),
} as const;

/** The truncated quotient, and the remainder with the sign of the dividend. */
export function truncated(
  element: ElementType,
  a: Value,
  b: Value,
): { quotient: Value; rest: Value } {
  if (isUint64(element)) return unsignedDivision(element, a, b);
  const floored = ops.floorDivide(a, b);
  const remainder = ops.sub(a, ops.mul(floored, b));
  // Floor and truncation differ when the signs do and the remainder is not zero.
  const differs = ops.logicalAnd(
    ops.notEqual(remainder, 0),
    ops.notEqual(ops.less(a, 0), ops.less(b, 0)),
  );
  const quotient = ops.add(floored, ops.cast(differs, floored.type.dtype));
  return { quotient, rest: ops.sub(a, ops.mul(quotient, b)) };
}

/** Unsigned division by a signed one. Source: Hacker's Delight, second edition, section 9-3. */
function unsignedDivision(
  element: ElementType,
  a: Value,
  b: Value,
): { quotient: Value; rest: Value } {
  const isAtLeast = (x: Value, y: Value): Value =>
    ops.greaterEqual(ordered(element, x), ordered(element, y));
  const halved = logicalShift(a, ops.onesLike(a));
  const estimate = ops.leftShift(ops.floorDivide(halved, ops.where(ops.less(b, 0), 1, b)), 1);
  const left = ops.sub(a, ops.mul(estimate, b));
  const corrected = ops.add(estimate, ops.cast(isAtLeast(left, b), 'int64'));
  const isLarge = ops.cast(isAtLeast(a, b), 'int64');
  const quotient = ops.where(ops.less(b, 0), isLarge, corrected);
  return { quotient, rest: ops.sub(a, ops.mul(quotient, b)) };
}

/** Logical right shift of int64 that holds uint64. */
export function logicalShift(x: Value, by: Value): Value {
  const shifted = ops.rightShift(x, by);
  // Clears the sign bits that were shifted in.
  const mask = ops.bitwiseNot(
    ops.leftShift(ops.leftShift(ops.fullLike(x, -1), ops.sub(63, by)), 1),
  );
  return ops.where(ops.equal(by, 0), x, ops.bitwiseAnd(shifted, mask));
}

/** Converts uint64 to a float. */
export function unsignedToFloat(x: Value, dtype: 'float32' | 'float64'): Value {
  const half = ops.bitwiseOr(logicalShift(x, ops.onesLike(x)), ops.bitwiseAnd(x, 1));
  return ops.where(ops.less(x, 0), ops.mul(ops.cast(half, dtype), 2), ops.cast(x, dtype));
}
