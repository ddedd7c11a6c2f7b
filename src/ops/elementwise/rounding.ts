import { isFloat } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { callOf, example, floatDTypes, integerDTypes, type Law } from '../declare/law.js';
import type { Unary } from '../signatures.js';
import { unaryOperator } from './point.js';

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { low: -9, high: 9 })], differentiable: false }, // steps at whole numbers
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

const simplify: readonly Law[] = [
  {
    name: 'round-integer',
    law: 'floor(x) = ceil(x) = round(x) = trunc(x) = x of integers and bool',
    cases: [example([tensor(['n', 3])], (x) => floor(trunc(ceil(round(x)))), integerDTypes)],
    apply: ({ inputs: [x], type }) => (isFloat(type.dtype) ? null : x),
  },
  {
    name: 'round-rounded',
    law: 'f(g(x)) = g(x) for f and g of floor, ceil, round, trunc: what is whole stays',
    cases: [
      example([tensor(['n', 3], { low: -9, high: 9 })], (x) => floor(ceil(x)), floatDTypes),
      example([tensor(['n', 3], { low: -9, high: 9 })], (x) => trunc(round(x)), floatDTypes),
      example([tensor(['n', 3], { low: -9, high: 9 })], (x) => ceil(round(floor(x))), floatDTypes),
    ],
    apply: ({ inputs: [x] }) =>
      [floor, ceil, round, trunc].some((each) => callOf(x, each) !== null) ? x : null,
  },
];

/** Rounds floats; integers and bool are returned unchanged. */
function rounding(name: string, ofFloats: (x: Expr) => Expr): OperatorFunction<Unary> {
  const value = (x: Expr): Expr =>
    x.type.scalar === 'f32' || x.type.scalar === 'f64' ? ofFloats(x) : x;
  return unaryOperator({ name, value, gradient: 'zero', simplify, samples });
}

/** The greatest whole number that is not greater than the element. */
export const floor: OperatorFunction<Unary> = rounding('floor', e.floor);

/** The least whole number that is not less than the element. */
export const ceil: OperatorFunction<Unary> = rounding('ceil', e.ceil);

/** The nearest whole number; halves go to the even one. */
export const round: OperatorFunction<Unary> = rounding('round', e.nearest);

/** The integer part: rounds towards zero. */
export const trunc: OperatorFunction<Unary> = rounding('trunc', e.trunc);
