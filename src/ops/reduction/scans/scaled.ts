import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';

/*
 * Products of floats with an exponent of their own, so that no order of the factors leaves the range. Operands are used
 * several times, so they should be locals.
 */

/**
 * The product `significand` 2^`exponent`, an i32. The magnitude of the significand is from 1 to 2, or 0, infinite or NaN
 * with the exponent 0.
 */
export type ScaledProduct = readonly [significand: Expr, exponent: Expr];

/** Layout of a float. */
interface FloatFormat {
  readonly bits: 'i32' | 'i64';
  /** Bits of the fraction, and of the exponent in its place. */
  readonly fraction: number;
  readonly field: number;
  /** The greatest exponent of a normal number; the least is 1 - `most`. */
  readonly most: number;
}

const formats: Readonly<Record<'f32' | 'f64', FloatFormat>> = {
  f32: { bits: 'i32', fraction: 23, field: 0xff, most: 127 },
  f64: { bits: 'i64', fraction: 52, field: 0x7ff, most: 1023 },
};

function formatOf({ type: { scalar } }: Expr): FloatFormat {
  return formats[scalar === 'f64' ? 'f64' : 'f32'];
}

/** Exponents beyond which no number of factors brings a product back. */
const farthest = 2 ** 29;

/** A float as a product of one factor. */
export function scaledFactor(x: Expr): ScaledProduct {
  const { bits, fraction, field, most } = formatOf(x);
  const constant = (value: bigint): Expr => e.constant(bits, bits === 'i64' ? value : Number(BigInt.asIntN(32, value)), x.type.lanes); // prettier-ignore
  const fieldOf = (of: Expr): Expr => e.and(e.cast('i32', e.shrU(e.bitcast(bits, of), fraction)), field); // prettier-ignore
  // Subnormal numbers are brought into the range first.
  const lift = fraction + 1;
  const isSmall = e.eq(fieldOf(x), 0);
  const normal = e.select(isSmall, e.mul(x, 2 ** lift), x);
  const place = fieldOf(normal);
  const rest = constant(~(BigInt(field) << BigInt(fraction)));
  const one = constant(BigInt(most) << BigInt(fraction));
  const significand = e.bitcast(x.type.scalar, e.or(e.and(e.bitcast(bits, normal), rest), one));
  const isNormal = e.and(e.ne(place, 0), e.ne(place, field));
  const exponent = e.sub(place, e.select(isSmall, e.i32(most + lift), e.i32(most)));
  return [e.select(isNormal, significand, x), e.select(isNormal, exponent, 0)];
}

/** The product of two products. */
export function scaledProduct(a: ScaledProduct, b: ScaledProduct): ScaledProduct {
  const product = e.mul(a[0], b[0]);
  const size = e.abs(product);
  const isPlain = e.and(e.gt(size, 0), e.lt(size, 4));
  const isBeyond = e.ge(size, 2);
  const sum = e.add(e.add(a[1], b[1]), e.cast('i32', isBeyond));
  return [
    e.select(e.and(isPlain, isBeyond), e.mul(product, 0.5), product),
    e.select(isPlain, e.max(e.min(sum, farthest), -farthest), 0),
  ];
}

/** The product times a float. */
export function scaledTimes([significand, exponent]: ScaledProduct, x: Expr): Expr {
  const { bits, fraction, most } = formatOf(x);
  const powerOfTwo = (n: Expr): Expr =>
    e.bitcast(x.type.scalar, e.shl(e.cast(bits, e.add(n, most)), fraction));
  const bounded = (n: Expr, size: number): Expr => e.max(e.min(n, size), -size);
  // Three factors reach from the least subnormal number to the greatest float and back. What gets smaller does so first.
  const all = bounded(exponent, 2 * (most - 1) + fraction + 1);
  const first = bounded(all, most - 1);
  const second = bounded(e.sub(all, first), most - 1);
  const third = e.sub(e.sub(all, first), second);
  const scaled = e.mul(e.mul(x, powerOfTwo(first)), significand);
  return e.mul(e.mul(scaled, powerOfTwo(second)), powerOfTwo(third));
}

/** The product as a float. */
export function scaledValue(product: ScaledProduct): Expr {
  const { scalar, lanes } = product[0].type;
  return scaledTimes(product, e.constant(scalar, 1, lanes));
}
