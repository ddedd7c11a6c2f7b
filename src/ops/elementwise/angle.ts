import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { exactProduct, exactSum, formatOf } from './format.js';

/*
 * Angles modulo a quarter turn, for every finite argument (Payne and Hanek 1983, in floating point).
 *
 * 1 / (2 pi) is cut into chunks of 26 bits. A chunk times a number of at most 27 bits is exact in f64, and
 * so is what remains of the product when its whole turns are dropped: the fraction of a turn is a short
 * sum, added from its largest term so that cancellation loses nothing.
 */

/** The first 1246 bits of 1 / (2 pi), whose leading bit weighs 2^-3. */
const inverseTurn =
  0x28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b801924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e60d4ce7d272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1edaeafc33ef08n;
const inverseTurnBits = 1246;
const chunkBits = 26;

/** Chunk `i`, to be scaled by 2^(-26 i). */
const chunks: readonly number[] = Array.from({ length: 46 }, (_, i) => {
  const shift = BigInt(inverseTurnBits - chunkBits * (i + 1));
  const chunk = (inverseTurn >> shift) & ((1n << BigInt(chunkBits)) - 1n);
  return Number(chunk) * 2 ** -(chunkBits + 2);
});

/** An angle as quarter turns and a remainder. */
export interface Angle {
  /** -2, -1, 0, 1 or 2 quarter turns, f64. */
  readonly quarter: Expr;
  /** Radians between -pi/4 and pi/4, f64. */
  readonly rest: Expr;
  /** Rounding error of the remainder; null for f32, which has digits to spare. */
  readonly error: Expr | null;
}

/** Splits an angle in radians, an f32 or f64 expression. Infinite angles give NaN. */
export function splitAngle(x: Expr): Angle {
  const wide = e.cast('f64', x);
  const terms = x.type.scalar === 'f32' ? narrowTerms(wide) : wideTerms(wide);
  const quarters = e.nearest(e.mul(terms.reduce(e.add), 4));
  const [first, ...others] = terms;
  const start = e.sub(first, e.mul(quarters, 0.25));
  const small = e.lt(e.abs(wide), Math.PI / 4);
  const quarter = withinTurn(quarters);
  if (x.type.scalar === 'f32') {
    const rest = e.mul(others.reduce(e.add, start), 2 * Math.PI);
    return { quarter, rest: e.select(small, wide, rest), error: null };
  }
  let fraction = start;
  let lost: Expr = e.constant('f64', 0);
  for (const term of others) {
    const [sum, error] = exactSum(fraction, term);
    fraction = sum;
    lost = e.add(lost, error);
  }
  const [rest, rounded] = exactProduct(fraction, e.constant('f64', 2 * Math.PI));
  const error = e.add(rounded, e.add(e.mul(lost, 2 * Math.PI), e.mul(fraction, turnError)));
  return { quarter, rest: e.select(small, wide, rest), error: e.select(small, 0, error) };
}

/** 2 pi minus its double. */
const turnError = 2.4492935982947064e-16;

/** Splits an angle given in half turns, an f32 or f64 expression; only the remainder is multiplied by pi. */
export function splitHalfTurns(x: Expr): Angle {
  const given = e.cast('f64', x);
  // Larger numbers are even, and infinity gives NaN.
  const wide = e.select(e.lt(e.abs(given), 2 ** 53), given, e.mul(given, 0));
  const quarters = e.nearest(e.mul(wide, 2));
  const fraction = e.sub(wide, e.mul(quarters, 0.5));
  const quarter = withinTurn(quarters);
  if (x.type.scalar === 'f32') return { quarter, rest: e.mul(fraction, Math.PI), error: null };
  const [rest, rounded] = exactProduct(fraction, e.constant('f64', Math.PI));
  return { quarter, rest, error: e.add(rounded, e.mul(fraction, turnError / 2)) };
}

function withinTurn(quarters: Expr): Expr {
  return e.sub(quarters, e.mul(e.nearest(e.mul(quarters, 0.25)), 4));
}

function dropTurns(turns: Expr): Expr {
  return e.sub(turns, e.nearest(turns));
}

/** Fractions of a turn whose sum is that of `x`, a number of 24 bits below 2^128. */
function narrowTerms(x: Expr): readonly Expr[] {
  return chunks.slice(0, 8).map((chunk, i) => {
    const turns = e.mul(x, chunk * 2 ** (-chunkBits * i));
    return i < 5 ? dropTurns(turns) : turns;
  });
}

/** `narrowTerms` for f64: selects the chunks that matter at the exponent of `x`. */
function wideTerms(x: Expr): readonly Expr[] {
  const format = formatOf(x);
  const field = e.shrU(format.bitsOf(e.abs(x)), format.fraction);
  const exponent = e.sub(format.fromWhole(field), format.bias);
  // Earlier chunks only give whole turns. The half keeps the product away from whole numbers.
  const skipped = e.max(e.floor(e.mul(e.sub(exponent, 53.5), 1 / chunkBits)), 0);
  const scaled = e.mul(x, format.powerOfTwo(e.mul(skipped, -chunkBits)));
  const high = format.fromBits(e.and(format.bitsOf(scaled), format.integer(-1n << 26n)));
  const low = e.sub(scaled, high);
  return window(skipped, 8).flatMap((chunk, i) =>
    [high, low].map((part) => {
      const turns = e.mul(e.mul(part, 2 ** (-chunkBits * i)), chunk);
      return i < 4 ? dropTurns(turns) : turns;
    }),
  );
}

/** `length` chunks from the one numbered `start` (below 64, an f64), by shifting the list by powers of two. */
function window(start: Expr, length: number): readonly Expr[] {
  let list: readonly Expr[] = chunks.map((chunk) => e.constant('f64', chunk));
  let left = start;
  for (let shift = 32; shift >= 1; shift /= 2) {
    const shifted = e.ge(left, shift);
    list = list
      .slice(0, length + shift - 1)
      .map((chunk, i) =>
        i + shift < list.length ? e.select(shifted, list[i + shift], chunk) : chunk,
      );
    left = e.select(shifted, e.sub(left, shift), left);
  }
  return list;
}
