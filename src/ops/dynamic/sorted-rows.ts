import { elementCount } from '../../base/dim/index.js';
import { promoteAll } from '../../base/dtype.js';
import { ShapeError } from '../../base/errors.js';
import { equalSizes, words } from '../../ir/requirement.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { sub } from '../elementwise/arithmetic.js';
import { equal as equalTo, notEqual } from '../elementwise/comparison.js';
import { maximum } from '../elementwise/extremum.js';
import { logicalAnd, logicalOr } from '../elementwise/logic.js';
import { checkIndexDType, indexDType, positionAt } from '../indexing/position.js';
import { rowRankNest } from '../indexing/order.js';
import { take } from '../indexing/take.js';
import { shapeToString } from '../declare/infer.js';
import { overAll } from '../loops.js';
import { onesLike } from '../movement/fill.js';
import { reshape } from '../movement/reshape.js';
import { cumsum } from '../reduction/cumulative.js';
import { any } from '../reduction/logic.js';
import { writeDistinctRows } from './onnx.js';

/* The order of whole rows, and where in it a new row begins. */

/**
 * @internal The indices that sort the rows of `x` (rank 2) in lexicographic order, int64; stable. NaN sorts last, as in
 * `sort`.
 */
export const argsortRows: OperatorFunction<<T extends Tensor = DefaultTensor>(x: Input<T>) => T> =
  operator({
    name: 'argsortRows',
    family: 'dynamic',
    attributes: {},
    method: false,
    operands: 'keep',
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [{ shape }] }) => {
      if (shape.length !== 2) {
        throw new ShapeError('there are no rows to sort', {
          op: 'argsortRows',
          expected: 'an array of rank 2',
          actual: shapeToString(shape),
        });
      }
      return [{ dtype: 'int64', shape: [shape[0]] }];
    },
    gradient: 'none',
    lowering: { kind: 'kernel', kernel: rowRankNest },
    onnx: ({ onnx, inputs: [x], inputTypes: [type] }) => {
      // Equal rows have equal numbers, and TopK returns equal elements in order.
      const { inverse } = writeDistinctRows(onnx, x, type);
      const all = onnx.sizes([type.shape[0]]);
      const smallestFirst = { axis: 0, largest: 0, sorted: 1 };
      return onnx.nodes('TopK', [inverse, all], smallestFirst, [null, 'int64'])[1];
    },
    samples: [
      { args: [tensor(['n', 2], { dtype: 'int32', low: 0, high: 2 })] },
      { args: [tensor([6, 'm'], { dtype: 'bool' })] },
      { args: [tensor([5, 2], { values: [1, NaN, 0, 3, NaN, 0, 1] })] },
    ],
  });

/**
 * @internal True at positions of an order of the first axis of `x` where the sub-array differs from the previous one:
 * bool, the shape of `order`. NaNs are equal. True at the first position.
 */
export const runStarts: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, order: Input<T>) => T
> = operator({
  name: 'runStarts',
  family: 'dynamic',
  attributes: {},
  method: false,
  operands: ([x, order]) => [promoteAll([x]), indexDType(order)],
  call: (x, order) => ({ inputs: [x, order], attributes: {} }),
  infer: ({ inputs: [x, order], require }) => {
    checkIndexDType('runStarts', order.dtype);
    if (x.shape.length === 0 || order.shape.length !== 1) {
      throw new ShapeError('there is no axis with an order', {
        op: 'runStarts',
        expected: 'an array of rank 1 or more, and an order of rank 1',
        actual: `${shapeToString(x.shape)} and ${shapeToString(order.shape)}`,
      });
    }
    require(equalSizes(order.shape[0], x.shape[0]), () => ({
      op: 'runStarts',
      problem: words`the order does not fit axis 0`,
      expected: words`${x.shape[0]} positions`,
      actual: words`${order.shape}`,
    }));
    return [{ dtype: 'bool', shape: order.shape }];
  },
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: ({ inputs: [x, order], outputs: [sink] }) => {
      const [length, ...rest] = x.shape;
      const here = e.variable('here', 'i32');
      const before = e.variable('before', 'i32');
      const isNew = e.variable('isNew', 'bool');
      const rowOf = (place: Expr): Expr => positionAt(order.at([place]), length, 'clip');
      return e.forLoop('i', 0, length, (i) =>
        e.block(
          e.declare(here, rowOf(i)),
          e.declare(before, rowOf(e.max(e.sub(i, 1), 0))),
          e.declare(isNew, e.eq(i, 0)),
          overAll(
            rest,
            (index) =>
              e.assign(
                isNew,
                e.or(isNew, differ(x.at([here, ...index]), x.at([before, ...index]))),
              ),
            'serial',
          ),
          sink.store([i], isNew),
        ),
      );
    },
  },
  onnx: {
    composed: ({ inputs: [x, order] }) => {
      const [length, ...rest] = x.type.shape;
      const numbers = cumsum(onesLike(order, { dtype: 'int64' }), 0, { exclusive: true });
      const before = take(order, maximum(sub(numbers, 1), 0), { axis: 0, mode: 'valid' });
      const rowsAt = (places: typeof x): typeof x =>
        reshape(take(x, places, { axis: 0, mode: 'clip' }), [length, elementCount(rest)]);
      const [here, last] = [rowsAt(order), rowsAt(before)];
      const isReal = logicalOr(equalTo(here, here), equalTo(last, last));
      const isNew = any(logicalAnd(notEqual(here, last), isReal), 1);
      return [logicalOr(isNew, equalTo(numbers, 0))];
    },
  },
  samples: [
    {
      args: [
        tensor([6], { values: [2, NaN, 2, -1, NaN, 0] }),
        tensor([6], { dtype: 'int64', values: [3, 5, 0, 2, 1, 4] }),
      ],
    },
    {
      args: [
        tensor(['n', 2], { dtype: 'int32', low: 0, high: 1 }),
        tensor(['n'], { dtype: 'int32', low: 0, high: 6 }),
      ],
    },
  ],
});

/** True when two elements differ; NaN equals itself. */
function differ(a: Expr, b: Expr): Expr {
  const { scalar } = a.type;
  if (scalar !== 'f32' && scalar !== 'f64') return e.ne(a, b);
  return e.and(e.ne(a, b), e.or(e.eq(a, a), e.eq(b, b)));
}
