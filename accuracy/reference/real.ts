/**
 * Real numbers as BigInt significands with an exponent, rounded to `precision` bits after every operation:
 * the arithmetic of the references that results of Kaon are compared with. It shares nothing with Kaon.
 */
export interface Real {
  /** The number is `significand * 2 ** exponent`. */
  readonly significand: bigint;
  readonly exponent: number;
}

/** Bits that every operation keeps: more than three times those of a float64. */
export const precision = 192;

export function bitLength(n: bigint): number {
  const magnitude = n < 0n ? -n : n;
  if (magnitude === 0n) return 0;
  const digits = magnitude.toString(16);
  return 4 * digits.length - Math.clz32(Number.parseInt(digits[0], 16)) + 28;
}

/** `n * 2 ** by`, towards negative infinity. */
export function shift(n: bigint, by: number): bigint {
  return by >= 0 ? n << BigInt(by) : n >> BigInt(-by);
}

/** A number of any length, rounded to nearest. */
export function real(significand: bigint, exponent: number = 0): Real {
  const excess = bitLength(significand) - precision;
  if (excess <= 0) return { significand, exponent };
  const half = 1n << BigInt(excess - 1);
  return { significand: (significand + half) >> BigInt(excess), exponent: exponent + excess };
}

const scratch = new DataView(new ArrayBuffer(8));

/** A finite float, exactly. */
export function fromNumber(x: number): Real {
  scratch.setFloat64(0, x);
  const bits = scratch.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const magnitude = field === 0 ? fraction : fraction | (1n << 52n);
  return {
    significand: bits >> 63n === 0n ? magnitude : -magnitude,
    exponent: Math.max(field, 1) - 1075,
  };
}

export const zero: Real = real(0n);
export const one: Real = real(1n);

export function isZero(x: Real): boolean {
  return x.significand === 0n;
}

export function isNegative(x: Real): boolean {
  return x.significand < 0n;
}

/** The exponent of the leading bit: the binary logarithm, rounded down; -Infinity for 0. */
export function magnitudeOf(x: Real): number {
  return isZero(x) ? -Infinity : bitLength(x.significand) - 1 + x.exponent;
}

export function neg(x: Real): Real {
  return { significand: -x.significand, exponent: x.exponent };
}

export function abs(x: Real): Real {
  return isNegative(x) ? neg(x) : x;
}

export function add(x: Real, y: Real): Real {
  if (isZero(x)) return y;
  if (isZero(y)) return x;
  // What lies far below the last bit cannot matter, and need not be written out.
  const apart = magnitudeOf(x) - magnitudeOf(y);
  if (apart > 2 * precision) return x;
  if (apart < -2 * precision) return y;
  const exponent = Math.min(x.exponent, y.exponent);
  return real(
    shift(x.significand, x.exponent - exponent) + shift(y.significand, y.exponent - exponent),
    exponent,
  );
}

export function sub(x: Real, y: Real): Real {
  return add(x, neg(y));
}

export function mul(x: Real, y: Real): Real {
  return real(x.significand * y.significand, x.exponent + y.exponent);
}

export function div(x: Real, y: Real): Real {
  const wanted = precision + 2 - bitLength(x.significand) + bitLength(y.significand);
  const lift = Math.max(wanted, 0);
  return real((x.significand << BigInt(lift)) / y.significand, x.exponent - y.exponent - lift);
}

/** `x * 2 ** n`. */
export function scale(x: Real, n: number): Real {
  return { significand: x.significand, exponent: x.exponent + n };
}

export function compare(x: Real, y: Real): number {
  const { significand } = sub(x, y);
  return significand < 0n ? -1 : significand > 0n ? 1 : 0;
}

/** The square root of a number that is not negative. */
export function sqrt(x: Real): Real {
  if (isZero(x)) return x;
  let lift = Math.max(2 * precision - bitLength(x.significand), 0);
  if ((x.exponent - lift) % 2 !== 0) lift++;
  return real(integerRoot(x.significand << BigInt(lift)), (x.exponent - lift) / 2);
}

/** The cube root. */
export function cbrt(x: Real): Real {
  if (isZero(x)) return x;
  if (isNegative(x)) return neg(cbrt(neg(x)));
  let lift = Math.max(3 * precision - bitLength(x.significand), 0);
  while ((x.exponent - lift) % 3 !== 0) lift++;
  const n = x.significand << BigInt(lift);
  let root = 1n << BigInt(Math.ceil(bitLength(n) / 3));
  for (;;) {
    const next = (2n * root + n / (root * root)) / 3n;
    if (next >= root) return real(root, (x.exponent - lift) / 3);
    root = next;
  }
}

/** The square root of an integer, rounded down, by Newton's iteration from above. */
function integerRoot(n: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(bitLength(n) / 2));
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** The number times `2 ** bits`, as an integer. */
export function toFixed(x: Real, bits: number): bigint {
  return shift(x.significand, x.exponent + bits);
}

/** The nearest whole number, halves up. */
export function nearest(x: Real): bigint {
  return (toFixed(x, 1) + 1n) >> 1n;
}

/** A float close to the number, which must be in range; for starting values. */
export function toNumber(x: Real): number {
  const excess = Math.max(bitLength(x.significand) - 64, 0);
  return Number(shift(x.significand, -excess)) * 2 ** (x.exponent + excess);
}
