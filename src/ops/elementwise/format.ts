import { InternalError } from '../../base/errors.js';
import * as e from '../../loop/language/build.js';
import type { Expr, Scalar } from '../../loop/language/nodes.js';
import { withPlainForm } from './known.js';

/** A power of two that may be out of range, as the product of two that are not. */
export type Powers = readonly [Expr, Expr];

/** `x` times a power of two: only the second product can round. */
export function scaledBy(x: Expr, [first, second]: Powers): Expr {
  return e.mul(e.mul(x, first), second);
}

/** The IEEE 754 format of f32 or f64: constants and bit operations for the algorithms of this family. */
export class FloatFormat {
  readonly scalar: 'f32' | 'f64';
  /** The integer type of equal width. */
  readonly bits: 'i32' | 'i64';
  /** Stored bits of the significand. */
  readonly fraction: number;
  /** Of the exponent. */
  readonly bias: number;
  /** The distance from 1 to the next greater number. */
  readonly epsilon: number;
  /** The least positive normal number. */
  readonly tiny: number;
  /** The greatest finite number. */
  readonly huge: number;

  constructor(scalar: 'f32' | 'f64', bits: 'i32' | 'i64', fraction: number, bias: number) {
    this.scalar = scalar;
    this.bits = bits;
    this.fraction = fraction;
    this.bias = bias;
    this.epsilon = 2 ** -fraction;
    this.tiny = 2 ** (1 - bias);
    this.huge = (2 - this.epsilon) * 2 ** bias;
  }

  /** The bits of a float as an integer. */
  bitsOf(x: Expr): Expr {
    return e.bitcast(this.bits, x);
  }

  fromBits(x: Expr): Expr {
    return e.bitcast(this.scalar, x);
  }

  /** Only the sign bit set. */
  get signMask(): bigint {
    return -1n << (this.bits === 'i32' ? 31n : 63n);
  }

  /** The magnitude of `x` with the sign bit of `y`. */
  withSignOf(x: Expr, y: Expr): Expr {
    const bits = e.and(this.bitsOf(x), this.integer(~this.signMask));
    return this.signed(
      withPlainForm(this.fromBits(bits), () => e.abs(x)),
      y,
    );
  }

  /** A magnitude, whose sign bit is not set, with the sign bit of `y`. */
  signed(magnitude: Expr, y: Expr): Expr {
    const sign = e.and(this.bitsOf(y), this.integer(this.signMask));
    return withPlainForm(this.fromBits(e.or(this.bitsOf(magnitude), sign)), () => {
      // The inverse of a zero has its sign.
      const isNegative = e.lt(e.select(e.eq(y, 0), e.div(1, y), y), 0);
      return e.select(isNegative, e.neg(magnitude), magnitude);
    });
  }

  /** Adding it to a whole number leaves that number in the low bits, in two's complement. */
  get #shifter(): number {
    return 1.5 * 2 ** this.fraction;
  }

  /** The low bits of a whole number below 2^(fraction - 1), as an integer; conversions do not vectorize. */
  wholeBits(n: Expr): Expr {
    return this.bitsOf(e.add(n, this.#shifter));
  }

  /** A small integer as a float. */
  fromWhole(n: Expr): Expr {
    const shifter = e.constant(this.scalar, this.#shifter);
    return e.sub(this.fromBits(e.add(n, this.bitsOf(shifter))), shifter);
  }

  /** 2^n for a whole `n` of a normal number. */
  powerOfTwo(n: Expr): Expr {
    return this.fromExponent(this.bitsOf(e.add(n, this.#shifter + this.bias)));
  }

  /** The float whose exponent field is the low bits of an integer, with a zero fraction. */
  fromExponent(bits: Expr): Expr {
    return this.fromBits(e.shl(bits, this.fraction));
  }

  /**
   * `x * 2^n` for a whole `n` of up to twice the normal range, rounded once: by two powers of about half,
   * whose biased exponents are the halves of `n` plus both biases.
   */
  scale(x: Expr, n: Expr): Expr {
    return scaledBy(x, this.powersOf(n));
  }

  /** 2^n as a product of two powers, for `scaledBy`. */
  powersOf(n: Expr): Powers {
    const both = this.bitsOf(e.add(n, this.#shifter + 2 * this.bias));
    const half = e.shrU(both, 1);
    return [this.fromExponent(half), this.fromExponent(e.sub(both, half))];
  }

  /**
   * `powersOf` for an `n` of at most half the exponents of normal numbers: raised by half of them it is that of a
   * normal number, and the constant factor undoes that.
   */
  powersUpToHalf(n: Expr): Powers {
    const raise = (this.bias + 1) / 2;
    const raised = this.bitsOf(e.add(n, this.#shifter + this.bias + raise));
    return [this.fromExponent(raised), e.constant(this.scalar, 2 ** -raise)];
  }

  /** A constant that differs between the formats. */
  pick(f32: number, f64: number): number {
    return this.scalar === 'f32' ? f32 : f64;
  }

  /** A constant of the integer type. */
  integer(value: bigint): Expr {
    return e.constant(this.bits, this.bits === 'i32' ? Number(BigInt.asIntN(32, value)) : value);
  }
}

const formats: Partial<Record<Scalar, FloatFormat>> = {
  f32: new FloatFormat('f32', 'i32', 23, 127),
  f64: new FloatFormat('f64', 'i64', 52, 1023),
};

/** The format of a floating expression. */
export function formatOf(x: Expr): FloatFormat {
  const format = formats[x.type.scalar];
  if (format === undefined) throw new InternalError(`${x.type.scalar} is not a floating type`);
  return format;
}

/** The coefficients of a polynomial, the constant one first, for each format. */
export interface Coefficients {
  readonly f32: readonly number[];
  readonly f64: readonly number[];
}

/** The polynomial at `x`, by Horner's rule. */
export function polynomial(x: Expr, coefficients: Coefficients): Expr {
  const { scalar } = formatOf(x);
  const list = coefficients[scalar];
  return list
    .slice(0, -1)
    .reduceRight<Expr>(
      (sum, coefficient) => e.add(e.mul(sum, x), coefficient),
      e.constant(scalar, list[list.length - 1]),
    );
}

/**
 * `polynomial` where the square of `x` is known: pairs of terms by Horner's rule in the square (Estrin 1960), half as
 * long a chain; the constant term, which rounds most, is added last.
 */
export function polynomialWithSquare(x: Expr, square: Expr, coefficients: Coefficients): Expr {
  const { scalar } = formatOf(x);
  const [constant, ...rest] = coefficients[scalar];
  const pairs: Expr[] = [];
  for (let k = 0; k < rest.length; k += 2) {
    const least = e.constant(scalar, rest[k]);
    pairs.push(k + 1 < rest.length ? e.add(e.mul(x, rest[k + 1]), least) : least);
  }
  const sum = pairs.reduceRight((higher, pair) => e.add(e.mul(higher, square), pair));
  return e.add(e.mul(sum, x), constant);
}

/**
 * `a * b` as an unevaluated sum of the rounded product and its error (Dekker 1971). The factors are split by
 * rounding their bits to half the precision, which costs no multiplication.
 */
export function exactProduct(a: Expr, b: Expr): readonly [product: Expr, error: Expr] {
  const [a1, b1] = [leadingHalf(a), leadingHalf(b)];
  const [a2, b2] = [e.sub(a, a1), e.sub(b, b1)];
  // Adding 0 keeps a backend from contracting this product with a sum: the error belongs to the rounded
  // product.
  const product = e.add(e.mul(a, b), 0);
  const cross = e.add(e.sub(e.mul(a1, b1), product), e.mul(a1, b2));
  return [product, e.add(e.add(cross, e.mul(a2, b1)), e.mul(a2, b2))];
}

/** The float rounded to half its bits, so that the rest fits into the other half. */
export function leadingHalf(x: Expr): Expr {
  const format = formatOf(x);
  const dropped = BigInt(format.fraction + 2) >> 1n;
  const half = e.add(format.bitsOf(x), format.integer(1n << (dropped - 1n)));
  return withPlainForm(format.fromBits(e.and(half, format.integer(-1n << dropped))), () => {
    const large = e.mul(x, 2 ** Number(dropped) + 1); // as Dekker splits
    return e.sub(large, e.sub(large, x));
  });
}

/** `a + b` as an unevaluated sum of the rounded sum and its error (Knuth 1969). */
export function exactSum(a: Expr, b: Expr): readonly [sum: Expr, error: Expr] {
  const sum = e.add(a, b);
  const virtual = e.sub(sum, a);
  return [sum, e.add(e.sub(a, e.sub(sum, virtual)), e.sub(b, virtual))];
}

/** For odd functions: zero maps to itself, with its sign. */
export function keepingZero(x: Expr, value: Expr): Expr {
  return e.select(e.eq(x, 0), x, value);
}
