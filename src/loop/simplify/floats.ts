import * as e from '../language/build.js';
import type { Scalar, UnaryOp } from '../language/nodes.js';
import { hole, type ExprLaw, law, type Sides } from './pattern.js';

const floats: readonly Scalar[] = ['f32', 'f64'];

/** Predicate of powers of two whose reciprocals are normal numbers too. */
function hasExactReciprocal(scalar: Scalar): (c: number | bigint) => boolean {
  const largest = scalar === 'f32' ? 126 : 1022;
  return (c) => {
    const exponent = Math.round(Math.log2(Math.abs(Number(c))));
    return Math.abs(exponent) <= largest && Math.abs(Number(c)) === 2 ** exponent;
  };
}

const roundings: readonly UnaryOp[] = ['floor', 'ceil', 'trunc', 'nearest'];

/** Laws of IEEE arithmetic: few of the laws of real numbers survive rounding, signed zeros and NaN. */
export const floatLaws: readonly ExprLaw[] = [
  law('times-one', 'x * 1 = x.', floats, (x) => [e.mul(x, 1), x]),
  law('over-one', 'x / 1 = x.', floats, (x) => [e.div(x, 1), x]),
  law('times-minus-one', 'x * -1 = -x.', floats, (x) => [e.mul(x, -1), e.neg(x)]),
  law('plus-minus-zero', 'x + -0 = x; with +0 it would turn -0 into +0.', floats, (x) => [
    e.add(x, -0),
    x,
  ]),
  law('minus-zero', 'x - 0 = x; -0 - 0 is -0.', floats, (x) => [e.sub(x, 0), x]),
  law('minus-zero-minus', '-0 - x = -x; 0 - x would give +0 for +0.', floats, (x, _, t) => [
    e.sub(e.constant(t, -0), x),
    e.neg(x),
  ]),
  law('neg-neg', '-(-x) = x.', floats, (x) => [e.neg(e.neg(x)), x]),
  law('minus-neg', 'y - (-x) = y + x: subtraction adds the negated operand.', floats, (x, y) => [
    e.sub(y, e.neg(x)),
    e.add(y, x),
  ]),
  law('abs-neg', 'abs(-x) = abs(x).', floats, (x) => [e.abs(e.neg(x)), e.abs(x)]),
  law('abs-abs', 'abs(abs(x)) = abs(x).', floats, (x) => [e.abs(e.abs(x)), e.abs(x)]),
  law('min-infinity', 'min(x, inf) = x, also for NaN.', floats, (x) => [e.min(x, Infinity), x]),
  law('max-infinity', 'max(x, -inf) = x, also for NaN.', floats, (x) => [e.max(x, -Infinity), x]),
  {
    name: 'divide-by-power-of-two',
    law: 'x / c = x * (1 / c) where 1 / c is exact: both round the same real number.',
    scalars: floats,
    sides: (t): Sides => {
      const [x, c] = [hole('x', t), hole('c', t)];
      return {
        left: e.div(x, c),
        right: e.mul(x, e.div(e.constant(t, 1), c)),
        constants: new Map([[c, hasExactReciprocal(t)]]),
      };
    },
  },
  ...roundings.flatMap((outer) =>
    roundings.map((inner) =>
      law(
        `${outer}-${inner}`,
        `${outer}(${inner}(x)) = ${inner}(x): what is integral stays.`,
        floats,
        (x) => [e.unary(outer, e.unary(inner, x)), e.unary(inner, x)],
      ),
    ),
  ),
];
