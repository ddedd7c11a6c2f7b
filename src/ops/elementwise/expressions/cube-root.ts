import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { polynomial } from '../format.js';
import { borrowOf, floatOf, wideProduct } from './fixed-point.js';
import { infinityBits, normalParts, signOf, magnitudeBits } from './float-bits.js';

/** m^(1/3) on [1, 8] within 2%. */
const start: readonly number[] = [0.7583, 0.2653, -0.0141];

/** The cube root of a float from 1 to 8; each round of Halley's iteration triples the number of right digits. */
export function cubeRootFrom(m: Expr, rounds: number): Expr {
  let root = polynomial(m, { f32: start, f64: start });
  for (let round = 0; round < rounds; round++) {
    const cube = e.mul(root, e.mul(root, root));
    const off = e.div(e.sub(m, cube), e.add(e.add(cube, cube), m));
    root = e.add(root, e.mul(root, off)); // a small change rounds less than a new value
  }
  return root;
}

/**
 * The cube root of an f32. A root of 20 digits behind the point, from floats, has an exact cube, and what that misses
 * gives the next digits, which are rounded once.
 */
export function cubeRootInIntegers(x: Expr): Expr {
  const { significand, exponent } = normalParts(magnitudeBits(x));
  // The bias makes a multiple of 3 of 2^0, and subnormal numbers positive.
  const biased = e.add(exponent, 150 - 127);
  const third = e.shrU(e.mul(biased, 21846), 16);
  const m = e.shl(significand, e.sub(biased, e.mul(third, 3))); // times 2^23
  const root = cubeRootFrom(e.mul(e.cast('f32', m), 2 ** -23), 2);
  const short = e.cast('i32', e.nearest(e.mul(root, 2 ** 20)));
  const square = wideProduct(short, short);
  const product = wideProduct(square.low, short);
  const high = e.add(product.high, e.mul(square.high, short));
  const missing = {
    high: e.sub(e.sub(e.shl(m, 5), high), borrowOf(e.i32(0), product.low)),
    low: e.neg(product.low),
  }; // times 2^60
  const difference = e.or(e.shl(missing.high, 18), e.shrU(missing.low, 14));
  const slope = e.mul(e.mul(root, root), 3 * 2 ** 15);
  const more = e.cast('i32', e.nearest(e.div(e.cast('f32', difference), slope)));
  const magnitude = {
    high: e.add(e.shl(short, 11), more),
    low: e.i32(0),
    scale: e.sub(31 + 50, third),
  };
  const isKept = e.or(e.eq(magnitudeBits(x), 0), e.ge(magnitudeBits(x), infinityBits));
  return e.select(isKept, x, floatOf(magnitude, signOf(x)));
}
