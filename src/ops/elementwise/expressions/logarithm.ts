import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { type Coefficients, type FloatFormat, formatOf, polynomial } from '../format.js';
import { knownAs, withPlainForm } from '../known.js';

/*
 * Logarithms, after fdlibm (Sun Microsystems 1993; e_log.c, s_log1p.c, e_log2.c, e_log10.c):
 * x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), s = f / (2 + f), and
 * log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)). Within 1 ulp; whole powers of two are exact in log2.
 */

/** (log(1 + f) - 2s) / s^3 in s^2, a Chebyshev fit in 60-digit arithmetic. */
export const logarithmTail: Coefficients = {
  f32: [0.666666666, 0.400001218, 0.285508208, 0.233304672],
  f64: [
    0.6666666666666666, 0.4000000000000088, 0.28571428570803614, 0.22222222391713917,
    0.18181795640132906, 0.15386239702814658, 0.13268773138656886, 0.13086626147840102,
  ],
}; // prettier-ignore

/** x = 2^k (1 + f) */
export interface SplitLogarithm {
  /** The whole part of the binary logarithm, rounded so that the rest is small; a float. */
  readonly k: Expr;
  /** x / 2^k - 1, exact. */
  readonly f: Expr;
}

/** The parts of a positive finite number. */
export function splitLogarithm(x: Expr): SplitLogarithm {
  const format = formatOf(x);
  const one = e.constant(format.scalar, 1);
  const root = e.constant(format.scalar, Math.SQRT1_2);
  const denormal = e.lt(x, format.tiny);
  const lift = format.fraction + 2;
  const normal = e.select(denormal, e.mul(x, 2 ** lift), x);
  // Moves sqrt(1/2) to a whole exponent, so that the exponent field is k.
  const moved = e.add(format.bitsOf(normal), e.sub(format.bitsOf(one), format.bitsOf(root)));
  const exponent = format.fromWhole(e.shrU(moved, format.fraction));
  const k = e.sub(exponent, e.select(denormal, e.constant(format.scalar, format.bias + lift), format.bias)); // prettier-ignore
  const fraction = e.and(moved, format.integer((1n << BigInt(format.fraction)) - 1n));
  return { k, f: e.sub(format.fromBits(e.add(fraction, format.bitsOf(root))), 1) };
}

interface Terms {
  /** f^2 / 2 */
  readonly half: Expr;
  /** s (f^2/2 + s^2 P(s^2)): log(1 + f) is f - half + tail. */
  readonly tail: Expr;
}

function termsOf(f: Expr): Terms {
  const s = e.div(f, e.add(f, 2));
  const z = e.mul(s, s);
  const half = e.mul(e.mul(f, f), 0.5);
  return { half, tail: e.mul(s, e.add(half, e.mul(z, polynomial(z, logarithmTail)))) };
}

/** ln 2 as a sum; products of the first with an exponent are exact. */
const ln2High = (format: FloatFormat): number => format.pick(6.9313812256e-1, 0.6931471803691238); // prettier-ignore
const ln2Low = (format: FloatFormat): number => format.pick(9.0580006145e-6, 1.9082149292705877e-10); // prettier-ignore

/** k ln 2 + log(1 + f) + correction */
function combine(k: Expr, f: Expr, correction: Expr | null): Expr {
  const format = formatOf(f);
  const { half, tail } = termsOf(f);
  const shift = e.mul(k, ln2Low(format));
  const small = correction === null ? shift : e.add(shift, correction);
  const rest = e.sub(e.sub(half, e.add(tail, small)), f);
  return e.sub(e.mul(k, ln2High(format)), rest);
}

/** Handles arguments that are not positive and finite. */
function atEdges(x: Expr, value: Expr): Expr {
  const infinite = e.select(e.eq(x, Infinity), x, value);
  return e.select(e.gt(x, 0), infinite, e.select(e.eq(x, 0), e.constant(x.type.scalar, -Infinity), NaN)); // prettier-ignore
}

/** log x of a float expression. */
export function logarithm(x: Expr): Expr {
  const { k, f } = splitLogarithm(x);
  return knownAs('Log', [x], atEdges(x, combine(k, f, null)));
}

/** log(1 + x) of a float expression. */
export function logarithmOfOnePlus(x: Expr): Expr {
  const u = e.add(x, 1);
  const { k, f } = splitLogarithm(u);
  // Rounding error of u, relative to u; meaningless and unused where u is infinite.
  const lost = e.select(e.ge(x, 1), e.sub(1, e.sub(u, x)), e.sub(x, e.sub(u, 1)));
  const near = e.eq(k, 0);
  const correction = e.select(near, 0, e.div(lost, u));
  const value = atEdges(u, combine(k, e.select(near, x, f), correction));
  // The other branch keeps -0.
  return withPlainForm(e.select(e.eq(x, 0), x, value), () => {
    // As Kahan does it: the rounding error of 1 + x cancels in the quotient.
    const corrected = e.div(e.mul(logarithm(u), x), e.sub(u, 1));
    return e.select(e.eq(u, 1), x, e.select(e.eq(u, Infinity), u, corrected));
  });
}

/** log(1 + f) as a sum whose first part has so few bits that products with short constants are exact. */
function inTwoParts(f: Expr): readonly [high: Expr, low: Expr] {
  const format = formatOf(f);
  const { half, tail } = termsOf(f);
  const mask = format.integer(-1n << BigInt(format.pick(12, 32)));
  const high = format.fromBits(e.and(format.bitsOf(e.sub(f, half)), mask));
  return [high, e.add(e.sub(e.sub(f, high), half), tail)];
}

/** `whole + high * c`, where c is a sum and `whole` has an error term of its own. */
function inBase(
  whole: Expr,
  wholeError: Expr | null,
  [high, low]: readonly [Expr, Expr],
  [first, second]: readonly [number, number],
): Expr {
  const product = e.mul(high, first);
  const total = e.add(whole, product);
  const rest = e.add(e.mul(e.add(low, high), second), e.mul(low, first));
  const small = wholeError === null ? rest : e.add(rest, wholeError);
  return e.add(total, e.add(small, e.add(e.sub(whole, total), product)));
}

/** log2 x of a float expression. */
export function binaryLogarithm(x: Expr): Expr {
  const format = formatOf(x);
  const { k, f } = splitLogarithm(x);
  const inverse = [
    format.pick(1.4428710938, 1.4426950407214463),
    format.pick(-1.7605285393e-4, 1.6751713164886512e-10),
  ] as const;
  return withPlainForm(atEdges(x, inBase(k, null, inTwoParts(f), inverse)), () =>
    e.mul(logarithm(x), Math.LOG2E),
  );
}

/** log10 x of a float expression. */
export function decimalLogarithm(x: Expr): Expr {
  const format = formatOf(x);
  const { k, f } = splitLogarithm(x);
  const inverse = [
    format.pick(4.3432617188e-1, 0.4342944818781689),
    format.pick(-3.1689971365e-5, 2.5082946711645275e-11),
  ] as const;
  const whole = e.mul(k, format.pick(3.0102920532e-1, 0.30102999566361177));
  const wholeError = e.mul(k, format.pick(7.9034151668e-7, 3.694239077158931e-13));
  return withPlainForm(atEdges(x, inBase(whole, wholeError, inTwoParts(f), inverse)), () =>
    e.mul(logarithm(x), Math.LOG10E),
  );
}
