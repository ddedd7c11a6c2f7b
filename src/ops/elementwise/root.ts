import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Binary, Unary } from '../signatures.js';
import { div, mul, square } from './arithmetic.js';
import { equal } from './comparison.js';
import { cubeRootFrom, cubeRootInIntegers } from './expressions/cube-root.js';
import { isInIntegers } from './expressions/float-bits.js';
import { formatOf } from './format.js';
import { towardsOne } from './gradient-terms.js';
import { foreign, withPlainForm } from './known.js';
import { binaryOperator, realFunction } from './point.js';
import { aboveZero } from './samples.js';
import { where } from './selection.js';

/** The square root, correctly rounded; NaN below 0. The gradient at 0 is infinite. */
export const sqrt: OperatorFunction<Unary> = realFunction({
  name: 'sqrt',
  value: e.sqrt,
  gradient: (g, _x, y) => div(g, mul(y, 2)),
  samples: aboveZero,
});

/** `1 / sqrt(x)`; infinite at 0, NaN below. */
export const rsqrt: OperatorFunction<Unary> = realFunction({
  name: 'rsqrt',
  value: (x) => e.div(1, e.sqrt(x)),
  gradient: (g, _x, y) => mul(mul(mul(mul(g, -0.5), y), y), y),
  samples: aboveZero,
});

/** The cube root, of negative numbers too. The gradient at 0 is infinite. Integers become float32. */
export const cbrt: OperatorFunction<Unary> = realFunction({
  name: 'cbrt',
  value: (x, context) => (isInIntegers(x, context) ? cubeRootInIntegers(x) : cubeRoot(x)),
  gradient: (g, _x, y) => div(g, mul(square(y), 3)),
  samples: [...aboveZero, { args: [tensor(['n'], { low: -2, high: -0.1 })] }],
});

/**
 * Dividing the exponent by 3 leaves m in [1, 8). f32 is computed in f64: within 0.51 ulp, f64 within 2.
 */
function cubeRoot(x: Expr): Expr {
  const wide = e.cast('f64', x);
  const format = formatOf(wide);
  const magnitude = e.abs(wide);
  const small = e.lt(magnitude, 2 ** -900);
  const bits = format.bitsOf(e.select(small, e.mul(magnitude, 2 ** 54), magnitude));
  const exponent = e.sub(format.fromWhole(e.shrU(bits, format.fraction)), format.bias);
  const third = e.floor(e.mul(e.add(exponent, 0.5), 1 / 3)); // the half keeps the product off whole numbers
  // In two factors, since the power alone could be denormal.
  const m = e.mul(
    e.mul(format.fromBits(bits), 2 ** -3),
    format.powerOfTwo(e.mul(e.sub(third, 1), -3)),
  );
  const root = cubeRootFrom(m, x.type.scalar === 'f32' ? 2 : 3);
  const shifted = e.sub(third, e.select(small, e.constant('f64', 54 / 3), 0));
  const value = e.cast(x.type.scalar, e.mul(root, format.powerOfTwo(shifted)));
  const special = e.or(e.eq(x, 0), e.not(e.lt(e.abs(x), Infinity)));
  return withPlainForm(e.select(special, x, formatOf(x).withSignOf(value, x)), () => {
    const power = foreign('Pow', [magnitude, e.constant('f64', 1 / 3)]);
    const plain = e.select(special, wide, formatOf(wide).withSignOf(power, wide));
    return e.cast(x.type.scalar, plain);
  });
}

/** `sqrt(x * x + y * y)` without overflow or underflow in between; infinite if either is. */
export const hypot: OperatorFunction<Binary> = binaryOperator({
  name: 'hypot',
  operands: 'float',
  value: (x, y) => {
    const format = formatOf(x);
    const largest = e.max(e.abs(x), e.abs(y));
    // Squares of what lies between these neither overflow nor lose bits.
    const middle = format.bias >> 1;
    const large = e.gt(largest, 2 ** (middle - 2));
    const small = e.lt(largest, 2 ** (format.fraction - middle));
    const factor = (power: number): Expr => e.constant(format.scalar, 2 ** power);
    const [shrink, enlarge] = [middle + 3, middle + format.fraction + 2];
    const down = e.select(large, factor(-shrink), e.select(small, factor(enlarge), 1));
    const up = e.select(large, factor(shrink), e.select(small, factor(-enlarge), 1));
    const [a, b] = [e.mul(x, down), e.mul(y, down)];
    const value = e.mul(e.sqrt(e.add(e.mul(a, a), e.mul(b, b))), up);
    const infinite = e.or(e.eq(e.abs(x), Infinity), e.eq(e.abs(y), Infinity));
    return e.select(infinite, Infinity, value);
  },
  // 0 at the origin.
  gradient: [(g, x, y) => mul(g, shareOfLength(x, y)), (g, x, y) => mul(g, shareOfLength(y, x))],
  samples: [
    { args: [tensor(['n', 3], { low: 0.1 }), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 }), 4] },
  ],
});

/** x / hypot(x, y), and 0 at the origin. */
function shareOfLength<T extends Tensor>(x: T, y: T): T {
  const lift = towardsOne(x, y, 'length');
  const leg = lift(x);
  const length = hypot(leg, lift(y));
  return where(equal(length, 0), 0, div(leg, length));
}
