import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare.js';
import type { Unary } from '../signatures.js';
import { unary } from './point.js';

/** Integers and bool are whole already and come back as they are. */
const fractional =
  (round: (x: Expr) => Expr) =>
  (x: Expr): Expr =>
    x.type.scalar === 'f32' || x.type.scalar === 'f64' ? round(x) : x;

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { low: -9, high: 9 })], differentiable: false }, // steps at whole numbers
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

/** The greatest whole number not above. */
export const floor: OperatorFunction<Unary> = unary({
  name: 'floor',
  value: fractional(e.floor),
  gradient: 'zero',
  samples,
});

/** The least whole number not below. */
export const ceil: OperatorFunction<Unary> = unary({
  name: 'ceil',
  value: fractional(e.ceil),
  gradient: 'zero',
  samples,
});

/** The nearest whole number; halves go to the even one. */
export const round: OperatorFunction<Unary> = unary({
  name: 'round',
  value: fractional(e.nearest),
  gradient: 'zero',
  samples,
});

/** The whole part: the fraction is dropped, towards zero. */
export const trunc: OperatorFunction<Unary> = unary({
  name: 'trunc',
  value: fractional(e.trunc),
  gradient: 'zero',
  samples,
});
