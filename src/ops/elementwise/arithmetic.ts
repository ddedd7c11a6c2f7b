import * as e from '../../loop/build.js';
import { type OperatorFunction, tensor } from '../declare.js';
import type { Binary, Unary } from '../signatures.js';
import { binary, unary } from './point.js';

/** `x + y`, element by element. Of bool: whether either is true. */
export const add: OperatorFunction<Binary> = binary({
  name: 'add',
  value: (x, y) => (x.type.scalar === 'bool' ? e.or(x, y) : e.add(x, y)),
  gradient: [(g) => g, (g) => g],
  samples: [
    { args: [tensor(['n', 3]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int64' }), 2] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
  ],
});

/** `x - y`, element by element. Not for bool. */
export const sub: OperatorFunction<Binary> = binary({
  name: 'sub',
  domain: 'number',
  value: (x, y) => e.sub(x, y),
  gradient: [(g) => g, (g) => neg(g)],
  samples: [
    { args: [tensor(['n', 3]), tensor(['n', 1])] },
    { args: [1, tensor(['n'])] },
    { args: [tensor(['n'], { dtype: 'uint8' }), tensor(['n'], { dtype: 'uint8' })] },
  ],
});

/** `x * y`, element by element. Of bool: whether both are true. */
export const mul: OperatorFunction<Binary> = binary({
  name: 'mul',
  value: (x, y) => (x.type.scalar === 'bool' ? e.and(x, y) : e.mul(x, y)),
  gradient: [(g, _x, y) => mul(g, y), (g, x) => mul(g, x)],
  samples: [
    { args: [tensor(['n', 3]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor([], { dtype: 'int32' })] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
  ],
});

/**
 * `x / y`, element by element: true division. Integers become float32; a zero divisor gives an
 * infinity or NaN. See `floorDivide` for whole quotients.
 */
export const div: OperatorFunction<Binary> = binary({
  name: 'div',
  operands: 'float',
  value: (x, y) => e.div(x, y),
  gradient: [(g, _x, y) => div(g, y), (g, _x, y, quotient) => neg(mul(g, div(quotient, y)))],
  samples: [
    { args: [tensor(['n', 3]), tensor([3], { low: 0.5 })] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor(['n'], { dtype: 'int32', low: 1 })] },
    { args: [1, tensor(['n'], { low: -2, high: -0.5 })] },
  ],
});

/** `-x`. Integers wrap: the least int8 is its own negative. Not for bool. */
export const neg: OperatorFunction<Unary> = unary({
  name: 'neg',
  domain: 'number',
  value: (x) => e.neg(x),
  gradient: (g) => neg(g),
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int8' })] }],
});

/** `+x`: the elements as they are. Not for bool. */
export const positive: OperatorFunction<Unary> = unary({
  name: 'positive',
  domain: 'number',
  value: (x) => x,
  gradient: (g) => g,
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int64' })] }],
});

/** `x * x`. */
export const square: OperatorFunction<Unary> = unary({
  name: 'square',
  value: (x) => (x.type.scalar === 'bool' ? x : e.mul(x, x)),
  gradient: (g, x) => mul(g, mul(x, 2)),
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int32' })] }],
});

/** `1 / x`. Integers become float32; 1 / 0 is infinite. */
export const reciprocal: OperatorFunction<Unary> = unary({
  name: 'reciprocal',
  operands: 'float',
  value: (x) => e.div(1, x),
  gradient: (g, _x, y) => neg(mul(g, square(y))),
  samples: [
    { args: [tensor(['n', 2], { low: 0.5 })] },
    { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 })] },
  ],
});

const radian = 180 / Math.PI;

/** Degrees to radians. */
export const deg2rad: OperatorFunction<Unary> = unary({
  name: 'deg2rad',
  operands: 'float',
  value: (x) => e.mul(x, 1 / radian),
  gradient: (g) => deg2rad(g),
  samples: [{ args: [tensor(['n'], { low: -360, high: 360 })] }],
});

/** Radians to degrees. */
export const rad2deg: OperatorFunction<Unary> = unary({
  name: 'rad2deg',
  operands: 'float',
  value: (x) => e.mul(x, radian),
  gradient: (g) => rad2deg(g),
  samples: [{ args: [tensor(['n'])] }],
});
