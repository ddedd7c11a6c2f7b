import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { unaryOperator } from './point.js';

const samples: readonly Sample[] = [
  { args: [tensor([4], { values: [1, Infinity, -Infinity, NaN] })] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

const holdsFractions = (x: Expr): boolean => x.type.scalar === 'f32' || x.type.scalar === 'f64';
const always = (x: Expr, value: 0 | 1): Expr => e.constant('bool', value, x.type.lanes);

/** True where an element is NaN; false for integers. */
export const isNaN: OperatorFunction<Unary> = unaryOperator({
  name: 'isNaN',
  result: 'bool',
  value: (x) => (holdsFractions(x) ? e.ne(x, x) : always(x, 0)),
  gradient: 'none',
  samples,
});

/** True where an element is neither NaN nor infinite; true for integers. */
export const isFinite: OperatorFunction<Unary> = unaryOperator({
  name: 'isFinite',
  result: 'bool',
  value: (x) => (holdsFractions(x) ? e.lt(e.abs(x), Infinity) : always(x, 1)),
  gradient: 'none',
  samples,
});

/** True where an element is infinite, of either sign; false for integers. */
export const isInf: OperatorFunction<Unary> = unaryOperator({
  name: 'isInf',
  result: 'bool',
  value: (x) => (holdsFractions(x) ? e.eq(e.abs(x), Infinity) : always(x, 0)),
  gradient: 'none',
  samples,
});
