import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { unaryOperator } from './point.js';

/** `ofFloats` of floats, and the same for all integers. */
function classification(
  name: string,
  ofFloats: (x: Expr) => Expr,
  ofIntegers: 0 | 1,
): OperatorFunction<Unary> {
  return unaryOperator({
    name,
    result: 'bool',
    value: (x) =>
      x.type.scalar === 'f32' || x.type.scalar === 'f64'
        ? ofFloats(x)
        : e.constant('bool', ofIntegers, x.type.lanes),
    gradient: 'none',
    samples: [
      { args: [tensor([4], { values: [1, Infinity, -Infinity, NaN] })] },
      { args: [tensor(['n'], { dtype: 'int32' })] },
    ],
  });
}

/** True where an element is NaN; false for integers. */
export const isNaN: OperatorFunction<Unary> = classification('isNaN', (x) => e.ne(x, x), 0);

/** True where an element is neither NaN nor infinite; true for integers. */
export const isFinite: OperatorFunction<Unary> = classification(
  'isFinite',
  (x) => e.lt(e.abs(x), Infinity),
  1,
);

/** True where an element is infinite, of either sign; false for integers. */
export const isInf: OperatorFunction<Unary> = classification(
  'isInf',
  (x) => e.eq(e.abs(x), Infinity),
  0,
);
