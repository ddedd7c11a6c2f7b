import { isFloat } from '../../base/dtype.js';
import type { Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { example, integerDTypes, type Law, numericDTypes } from '../declare/law.js';
import type { Binary } from '../signatures.js';
import { constantOnItself } from './laws.js';
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
  return constantOnItself(
    'with-itself',
    `(${words}) = ${holds}${ofFloats ? '' : ' of integers and bool; NaN does not equal itself'}`,
    Number(holds),
    [
      example([tensor(['n', 3])], build, ofFloats ? numericDTypes : integerDTypes),
      example([tensor(['n'], { dtype: 'bool' })], build),
    ],
    ({ dtype }) => ofFloats || !isFloat(dtype),
  );
}

function comparison(
  name: string,
  value: (x: Expr, y: Expr) => Expr,
  law: Law,
): OperatorFunction<Binary> {
  return binaryOperator({
    name,
    result: 'bool',
    value,
    gradient: 'none',
    simplify: [law],
    samples,
  });
}

/** True where `x === y`. */
export const equal: OperatorFunction<Binary> = comparison(
  'equal',
  (x, y) => e.eq(x, y),
  ofItself('x == x', true, (x) => equal(x, x)),
);

/** True where `x !== y`, or either is NaN. */
export const notEqual: OperatorFunction<Binary> = comparison(
  'notEqual',
  (x, y) => e.ne(x, y),
  ofItself('x != x', false, (x) => notEqual(x, x)),
);

/** True where `x < y`. */
export const less: OperatorFunction<Binary> = comparison(
  'less',
  (x, y) => e.lt(ordered(x), ordered(y)),
  ofItself('x < x', false, (x) => less(x, x), true),
);

/** True where `x <= y`. */
export const lessEqual: OperatorFunction<Binary> = comparison(
  'lessEqual',
  (x, y) => e.le(ordered(x), ordered(y)),
  ofItself('x <= x', true, (x) => lessEqual(x, x)),
);

/** True where `x > y`. */
export const greater: OperatorFunction<Binary> = comparison(
  'greater',
  (x, y) => e.gt(ordered(x), ordered(y)),
  ofItself('x > x', false, (x) => greater(x, x), true),
);

/** True where `x >= y`. */
export const greaterEqual: OperatorFunction<Binary> = comparison(
  'greaterEqual',
  (x, y) => e.ge(ordered(x), ordered(y)),
  ofItself('x >= x', true, (x) => greaterEqual(x, x)),
);
