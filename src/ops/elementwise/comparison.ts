import { isFloat } from '../../base/dtype.js';
import type { Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { example, integerDTypes, type Law, numericDTypes } from '../declare/law.js';
import type { Binary } from '../signatures.js';
import { filledLike } from '../uniform.js';
import { binaryOperator } from './point.js';

/** Comparisons promote their operands, then compare. NaN is unequal to everything. */

const samples: readonly Sample[] = [
  { args: [tensor(['n', 3]), tensor([3])] },
  { args: [tensor(['n'], { dtype: 'int32' }), 0] },
  { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
];

/** bool has no order in the loop IR; as numbers, false is less than true. */
const ordered = (x: Expr): Expr => (x.type.scalar === 'bool' ? e.cast('i32', x) : x);

/** Laws of a comparison with itself; for floats only where NaN gives the same. */
function ofItself(
  words: string,
  holds: boolean,
  build: (x: Value) => Value,
  ofFloats: boolean = false,
): Law {
  return {
    name: 'with-itself',
    law: `(${words}) = ${holds}${ofFloats ? '' : ' of integers and bool; NaN does not equal itself'}`,
    cases: [
      example([tensor(['n', 3])], build, ofFloats ? numericDTypes : integerDTypes),
      example([tensor(['n'], { dtype: 'bool' })], build),
    ],
    apply: ({ inputs: [x, y], type }) =>
      x === y && (ofFloats || !isFloat(x.type.dtype)) ? filledLike(Number(holds), type, x) : null,
  };
}

/** True where `x === y`. */
export const equal: OperatorFunction<Binary> = binaryOperator({
  name: 'equal',
  result: 'bool',
  value: (x, y) => e.eq(x, y),
  gradient: 'none',
  simplify: [ofItself('x == x', true, (x) => equal(x, x))],
  samples,
});

/** True where `x !== y`, or either is NaN. */
export const notEqual: OperatorFunction<Binary> = binaryOperator({
  name: 'notEqual',
  result: 'bool',
  value: (x, y) => e.ne(x, y),
  gradient: 'none',
  simplify: [ofItself('x != x', false, (x) => notEqual(x, x))],
  samples,
});

/** True where `x < y`. */
export const less: OperatorFunction<Binary> = binaryOperator({
  name: 'less',
  result: 'bool',
  value: (x, y) => e.lt(ordered(x), ordered(y)),
  gradient: 'none',
  simplify: [ofItself('x < x', false, (x) => less(x, x), true)],
  samples,
});

/** True where `x <= y`. */
export const lessEqual: OperatorFunction<Binary> = binaryOperator({
  name: 'lessEqual',
  result: 'bool',
  value: (x, y) => e.le(ordered(x), ordered(y)),
  gradient: 'none',
  simplify: [ofItself('x <= x', true, (x) => lessEqual(x, x))],
  samples,
});

/** True where `x > y`. */
export const greater: OperatorFunction<Binary> = binaryOperator({
  name: 'greater',
  result: 'bool',
  value: (x, y) => e.gt(ordered(x), ordered(y)),
  gradient: 'none',
  simplify: [ofItself('x > x', false, (x) => greater(x, x), true)],
  samples,
});

/** True where `x >= y`. */
export const greaterEqual: OperatorFunction<Binary> = binaryOperator({
  name: 'greaterEqual',
  result: 'bool',
  value: (x, y) => e.ge(ordered(x), ordered(y)),
  gradient: 'none',
  simplify: [ofItself('x >= x', true, (x) => greaterEqual(x, x))],
  samples,
});
