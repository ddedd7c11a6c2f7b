import { type DType, isNarrowFloat } from '../base/dtype.js';
import * as e from '../loop/language/build.js';
import type { Expr } from '../loop/language/nodes.js';
import { withPlainForm } from './elementwise/known.js';
import { computeScalar } from './declare/lowering.js';

/**
 * A number in the compute type of a dtype, before rounding to that dtype. For 16-bit floats this is float32,
 * whose rounding must not create a tie for the second rounding. So it is rounded to odd: truncated, with the
 * last bit set where anything was lost.
 *
 * Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding
 * to odd, IEEE Transactions on Computers 2008.
 */
export function roundedToOdd(dtype: DType, x: Expr): Expr {
  const { scalar } = x.type;
  const isRounded =
    scalar === 'f64' || (dtype === 'bfloat16' && (scalar === 'i64' || scalar === 'i32'));
  const plain = e.cast(computeScalar(dtype), x);
  if (!isNarrowFloat(dtype) || !isRounded) return plain;
  return withPlainForm(toOdd(scalar === 'i64' ? exactly(x) : e.cast('f64', x)), () => plain);
}

/** An f64 as an f32, rounded to odd. */
function toOdd(x: Expr): Expr {
  const nearest = e.cast('f32', x);
  const back = e.cast('f64', nearest);
  const bits = e.bitcast('i32', nearest);
  const cut = e.select(e.gt(e.abs(back), e.abs(x)), e.sub(bits, 1), bits);
  return e.bitcast('f32', e.select(e.eq(back, x), bits, e.or(cut, 1)));
}

/**
 * An i64 as an f64 that rounds as the i64 would: if it is too long, the low bits are gathered in the last
 * that fits.
 */
function exactly(x: Expr): Expr {
  const low = e.and(x, 0x7ff);
  const gathered = e.or(
    e.sub(x, low),
    e.select(e.eq(low, 0), e.constant('i64', 0, x.type.lanes), 0x400),
  );
  const isLong = e.or(e.ge(x, 2 ** 53), e.lt(x, -(2 ** 53)));
  return e.cast('f64', e.select(isLong, gathered, x));
}
