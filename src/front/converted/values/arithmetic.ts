import * as operators from '../../../ops/index.js';
import { array } from '../../arrays/creation.js';
import type { NDArray } from '../../core/ndarray.js';

/*
 * JavaScript's operators and functions of `Math` on numbers that are arrays of rank 0, of int32, float32 or bool.
 * Their results are those of JavaScript, up to the rounding of float32 and the range of int32.
 */

type Arithmetic = (a: NDArray, b: NDArray) => NDArray;

/** The 32 bits of whole numbers that are rounded: of unsigned ones, and of what is computed from these. */
const wholeBits = new WeakMap<NDArray, () => NDArray>();

/** Results of `>>>`. */
const unsignedOnes = new WeakSet<NDArray>();

/** The operands of quotients of integers. */
const quotients = new WeakMap<NDArray, readonly [dividend: NDArray, divisor: NDArray]>();

/** True for a number of which float32 has not all bits. */
export function isRounded(value: NDArray): boolean {
  return wholeBits.has(value);
}

/** Sums, differences and products: modulo 2 ** 32, bits of the results follow from those of the operands. */
const ring =
  (operation: Arithmetic): Arithmetic =>
  (a, b) => {
    const result = operation(a, b);
    const isWhole = [a, b].every((each) => isInteger(each) || wholeBits.has(each));
    if (isWhole && !isInteger(result))
      wholeBits.set(result, () => operation(toInt32(a), toInt32(b)));
    return result;
  };

const quotient: Arithmetic = (a, b) => {
  const result: NDArray = operators.div(a, b);
  if (isInteger(a) && isInteger(b)) quotients.set(result, [a, b]);
  return result;
};

/** A quotient of integers without its fraction, and 0 where the divisor is. */
function wholeQuotient([a, b]: readonly [NDArray, NDArray]): NDArray {
  const isZero = operators.equal<NDArray>(b, 0);
  const divisor: NDArray = operators.where(isZero, array(1, { dtype: 'int32' }), b);
  const whole = operators.floorDivide<NDArray>(
    operators.sub(a, operators.fmod(a, divisor)),
    divisor,
  );
  return operators.where(isZero, array(0, { dtype: 'int32' }), whole);
}

/** Integers from 0 on: bits move to the right, and zeros come in. */
const unsignedShift: Arithmetic = (a, b) => {
  const [value, count] = [toInt32(a), operators.bitwiseAnd<NDArray>(toInt32(b), 31)];
  const known = knownValue(count);
  const shifted = operators.rightShift<NDArray>(value, count);
  const one = array(1, { dtype: 'int32' });
  const mask = operators.sub<NDArray>(operators.leftShift<NDArray>(one, operators.sub(32, count)), one); // prettier-ignore
  if (known > 0) return operators.bitwiseAnd(shifted, mask);
  const bits: NDArray = known === 0 ? value : operators.where(operators.equal(count, 0), value, operators.bitwiseAnd(shifted, mask)); // prettier-ignore
  const float = bits.astype('float32');
  const result: NDArray = operators.where(operators.less(bits, 0), operators.add(float, 2 ** 32), float); // prettier-ignore
  wholeBits.set(result, () => bits);
  unsignedOnes.add(result);
  return result;
};

/** The number of zeros before the first bit. */
function leadingZeros(value: NDArray): NDArray {
  const bits = toInt32(value);
  let [rest, place] = [bits, operators.mul<NDArray>(bits, 0)];
  for (const count of [16, 8, 4, 2, 1]) {
    const high = operators.rightShift<NDArray>(rest, count);
    const isHigh = operators.greater<NDArray>(high, 0);
    place = operators.add(place, operators.mul<NDArray>(isHigh.astype('int32'), count));
    rest = operators.where(isHigh, high, rest);
  }
  const last = operators.greater<NDArray>(rest, 0).astype('int32');
  const zeros = operators.sub<NDArray>(operators.sub<NDArray>(32, place), last);
  return operators.mul(zeros, operators.greaterEqual<NDArray>(bits, 0).astype('int32'));
}

/** In arithmetic a boolean is 0 or 1. */
const numeric =
  (operation: Arithmetic): Arithmetic =>
  (a, b) =>
    operation(unsigned(a), unsigned(b));

function unsigned(value: NDArray): NDArray {
  return value.dtype === 'bool' ? value.astype('int32') : value;
}

function isInteger({ dtype }: NDArray): boolean {
  return dtype === 'int32' || dtype === 'bool';
}

/** The value of an array that is known while code is captured; NaN where it is not. */
function knownValue(value: NDArray): number {
  return value.elements === null ? NaN : Number(value.item());
}

/** The remainder has the sign of the dividend, and is NaN where the divisor is 0, which no integer is. */
const remainder: Arithmetic = (a, b) => {
  const modulus = knownValue(b);
  const bits = wholeBits.get(a)?.();
  if (
    bits !== undefined &&
    a.dtype === 'float32' &&
    unsignedOnes.has(a) &&
    isInteger(b) &&
    modulus > 0 &&
    modulus < 2 ** 30
  ) {
    // prettier-ignore
    const half = operators.fmod<NDArray>(unsignedShift(bits, array(1, { dtype: 'int32' })), b);
    return operators.fmod(operators.add<NDArray>(operators.mul<NDArray>(half, 2), operators.bitwiseAnd<NDArray>(bits, 1)), b); // prettier-ignore
  }
  const rest = operators.fmod(a, b);
  const divisor = knownValue(b);
  if (!isInteger(rest) || (divisor !== 0 && !Number.isNaN(divisor))) return rest;
  return operators.where(operators.equal(b, 0), NaN, rest.astype('float32'));
};

/** Powers of integers are integers where the exponent is known to be none below 0. */
const power: Arithmetic = (a, b) => {
  const exponent = knownValue(b);
  if (isInteger(a) && isInteger(b)) {
    if (exponent >= 0) return operators.pow(a, b);
    return operators.pow(a.astype('float32'), b.astype('float32'));
  }
  const result: NDArray = operators.pow(a, b);
  if (Number.isFinite(exponent)) return result;
  // Other libraries take any power of 1 for 1.
  const isOne = operators.equal(operators.abs(a), 1);
  const isUnbounded = operators.notEqual(operators.sub(b, b), 0);
  return operators.where(operators.logicalAnd(isOne, isUnbounded), NaN, result);
};

const bits =
  (operation: Arithmetic): Arithmetic =>
  (a, b) =>
    operation(toInt32(a), toInt32(b));

/** The number as 32 bits: without its fraction, modulo a power of two, and 0 for NaN and infinities. */
function toInt32(value: NDArray): NDArray {
  if (isInteger(value)) return value.astype('int32');
  const bits = wholeBits.get(value);
  if (bits !== undefined) return bits();
  const parts = quotients.get(value);
  if (parts !== undefined) return wholeQuotient(parts);
  const isFinite = operators.equal(operators.sub(value, value), 0);
  const whole = operators.trunc(operators.where(isFinite, value, 0));
  // Exact for numbers beyond 32 bits: these are multiples of 256, and the divisor is a power of two.
  const rest = operators.mod(whole, 2 ** 32);
  const isHigh = operators.greaterEqual(rest, 2 ** 31);
  const reduced = operators.where(isHigh, operators.sub(rest, 2 ** 32), rest);
  const isShort = operators.less(operators.abs(whole), 2 ** 31);
  return operators.where(isShort, whole, reduced).astype('int32');
}

const equal: Arithmetic = (a, b) => operators.equal(a, b);

/** A boolean and a number are never the same. */
const same: Arithmetic = (a, b) =>
  (a.dtype === 'bool') === (b.dtype === 'bool') ? equal(a, b) : array(false, { dtype: 'bool' });

/** Binary operators. */
export const arithmetic: Readonly<Record<string, Arithmetic>> = {
  '+': numeric(ring((a, b) => operators.add(a, b))),
  '-': numeric(ring((a, b) => operators.sub(a, b))),
  '*': numeric(ring((a, b) => operators.mul(a, b))),
  '/': numeric(quotient),
  '%': numeric(remainder),
  '**': numeric(power),
  '<': (a, b) => operators.less(a, b),
  '<=': (a, b) => operators.lessEqual(a, b),
  '>': (a, b) => operators.greater(a, b),
  '>=': (a, b) => operators.greaterEqual(a, b),
  '==': equal,
  '===': same,
  '!=': (a, b) => equal(a, b).logicalNot(),
  '!==': (a, b) => same(a, b).logicalNot(),
  '|': bits((a, b) => operators.bitwiseOr(a, b)),
  '&': bits((a, b) => operators.bitwiseAnd(a, b)),
  '^': bits((a, b) => operators.bitwiseXor(a, b)),
  '<<': bits((a, b) => operators.leftShift(a, operators.bitwiseAnd(b, 31))),
  '>>': bits((a, b) => operators.rightShift(a, operators.bitwiseAnd(b, 31))),
  '>>>': unsignedShift,
};

/** Unary operators. */
export const unaryArithmetic: Readonly<Record<string, (value: NDArray) => NDArray>> = {
  '-': (value) => operators.neg(unsigned(value)),
  '+': unsigned,
  '~': (value) => operators.bitwiseNot(toInt32(value)),
};

/** A function that takes integers as they are. */
const whole =
  (operation: (value: NDArray) => NDArray) =>
  (value: NDArray): NDArray =>
    isInteger(value) ? unsigned(value) : operation(value);

/** Rounding, which is exact for quotients of integers by a number that is known. */
const rounding =
  (
    operation: (value: NDArray) => NDArray,
    exact: (parts: readonly [NDArray, NDArray]) => NDArray,
  ) =>
  (value: NDArray): NDArray => {
    const parts = quotients.get(value);
    if (parts === undefined || !(Math.abs(knownValue(parts[1])) > 0)) return operation(value);
    return exact(parts);
  };

/** Halves are rounded up, and what rounds to 0 keeps its sign. */
function round(value: NDArray): NDArray {
  const below = operators.floor<NDArray>(value);
  const isUp = operators.greaterEqual(operators.sub(value, below), 0.5);
  const result = operators.add<NDArray>(below, isUp.astype('float32'));
  return operators.where(operators.equal(result, 0), operators.mul(value, 0), result);
}

const floats = (operation: (value: NDArray) => NDArray) => (value: NDArray) =>
  operation(value.astype('float32'));

/** Functions of `Math`. */
export const mathFunctions: Readonly<Record<string, (...values: NDArray[]) => NDArray>> = {
  max: (...values) => values.map(unsigned).reduce((a, b) => operators.maximum(a, b)),
  min: (...values) => values.map(unsigned).reduce((a, b) => operators.minimum(a, b)),
  pow: (a, b) => arithmetic['**'](a, b),
  abs: (value) => operators.abs(unsigned(value)),
  floor: whole(
    rounding(
      (value) => operators.floor(value),
      ([a, b]) => operators.floorDivide(a, b),
    ),
  ),
  ceil: whole((value) => operators.ceil(value)),
  trunc: whole(rounding((value) => operators.trunc(value), wholeQuotient)),
  round: whole(round),
  sign: (value) => operators.where(operators.equal(value, 0), unsigned(value), operators.sign(unsigned(value))), // prettier-ignore
  imul: (a, b) => operators.mul(toInt32(a), toInt32(b)),
  clz32: leadingZeros,
  fround: floats((value) => value),
  sqrt: floats((value) => operators.sqrt(value)),
  cbrt: floats((value) => operators.cbrt(value)),
  exp: floats((value) => operators.exp(value)),
  expm1: floats((value) => operators.expm1(value)),
  log: floats((value) => operators.log(value)),
  log1p: floats((value) => operators.log1p(value)),
  log2: floats((value) => operators.log2(value)),
  log10: floats((value) => operators.log10(value)),
  sin: floats((value) => operators.sin(value)),
  cos: floats((value) => operators.cos(value)),
  tan: floats((value) => operators.tan(value)),
  asin: floats((value) => operators.asin(value)),
  acos: floats((value) => operators.acos(value)),
  atan: floats((value) => operators.atan(value)),
  sinh: floats((value) => operators.sinh(value)),
  cosh: floats((value) => operators.cosh(value)),
  tanh: floats((value) => operators.tanh(value)),
  asinh: floats((value) => operators.asinh(value)),
  acosh: floats((value) => operators.acosh(value)),
  atanh: floats((value) => operators.atanh(value)),
  atan2: (a, b) => operators.atan2(a.astype('float32'), b.astype('float32')),
  hypot: (...values) => values.map((value) => operators.abs<NDArray>(value.astype('float32'))).reduce((a, b) => operators.hypot(a, b)), // prettier-ignore
};

const isWhole = (value: NDArray): NDArray => operators.equal(operators.fmod(value, 1), 0);
const isSafe = (value: NDArray): NDArray =>
  operators.less(operators.abs(value.astype('float32')), 2 ** 53);

/** Tests of numbers: booleans are none. */
const ofNumbers =
  (test: (value: NDArray) => NDArray) =>
  (value: NDArray): NDArray =>
    value.dtype === 'bool' ? array(false, { dtype: 'bool' }) : test(value);

/** Functions of the language that take a number, besides those of `Math`. */
export const numberFunctions: Readonly<Record<string, (value: NDArray) => NDArray>> = {
  Number: unsigned,
  'Number.isFinite': ofNumbers((value) => operators.isFinite(value)),
  'Number.isInteger': ofNumbers(isWhole),
  'Number.isNaN': ofNumbers((value) => operators.isNaN(value)),
  'Number.isSafeInteger': ofNumbers((value) => operators.logicalAnd(isWhole(value), isSafe(value))),
  isFinite: (value) => operators.isFinite(unsigned(value)),
  isNaN: (value) => operators.isNaN(unsigned(value)),
};
