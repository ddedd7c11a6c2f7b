import * as attr from '../../base/attributes/attribute.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { overAll } from '../loops.js';
import { comesBefore } from './order.js';
import { isFloat } from '../../base/dtype.js';
import { isNaN } from '../elementwise/classification.js';
import { less } from '../elementwise/comparison.js';
import { cast } from '../elementwise/conversion.js';
import { logicalAnd, logicalNot, logicalOr } from '../elementwise/logic.js';
import { expandDims } from '../movement/reshape.js';
import { sum } from '../reduction/sum.js';

export interface SearchOptions {
  /** `left` (default): before elements equal to the value; `right`: behind them. */
  readonly side?: 'left' | 'right';
}

/**
 * For every value the index in `sorted` (rank 1, ascending, NaN last) at which it could be inserted without
 * breaking the order; int64, in the shape of `values`. Binary search.
 */
export const searchsorted: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    sorted: Input<T>,
    values: Input<T>,
    options?: SearchOptions,
  ) => T
> = operator({
  name: 'searchsorted',
  options: { at: 2, names: ['side'] },
  family: 'indexing',
  attributes: { side: attr.oneOf('left', 'right') },
  call: (sorted, values, options) => ({
    inputs: [sorted, values],
    attributes: { side: options?.side ?? 'left' },
  }),
  infer: ({ inputs: [sorted, values] }) => {
    if (sorted.shape.length !== 1) {
      throw new ShapeError('the elements to search have rank 1', {
        op: 'searchsorted',
        expected: 'an array of rank 1',
        actual: shapeToString(sorted.shape),
      });
    }
    return [{ dtype: 'int64', shape: values.shape }];
  },
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: ({ inputs: [sorted, values], outputs: [sink], attributes: { side } }) =>
      overAll(
        values.shape,
        (index) => {
          const value = values.at(index);
          const wanted = e.variable('wanted', value.type.scalar);
          const low = e.variable('low', 'i32');
          const high = e.variable('high', 'i32');
          const middle = e.variable('middle', 'i32');
          const element = sorted.at([middle]);
          const isBehind =
            side === 'left'
              ? comesBefore(element, wanted, false)
              : e.not(comesBefore(wanted, element, false));
          return e.block(
            e.declare(wanted, value),
            e.declare(low, e.i32(0)),
            e.declare(high, sorted.shape[0]),
            e.whileLoop(
              e.lt(low, high),
              e.block(
                e.declare(middle, e.shrU(e.add(low, high), 1)),
                e.ifThen(isBehind, e.assign(low, e.add(middle, 1)), e.assign(high, middle)),
              ),
            ),
            sink.store(index, e.cast('i64', low)),
          );
        },
        'serial',
      ),
  },
  onnx: {
    // Counts the elements before each value: ONNX has no search.
    composed: ({ inputs: [sorted, values], attributes: { side } }) => {
      const value = expandDims(values, -1);
      const goesBefore = (a: typeof value, b: typeof value): typeof value =>
        isFloat(a.type.dtype)
          ? logicalOr(less(a, b), logicalAnd(isNaN(b), logicalNot(isNaN(a))))
          : less(a, b);
      const isBehind = side === 'left' ? goesBefore(sorted, value) : logicalNot(goesBefore(value, sorted));
      return [sum(cast(isBehind, 'int64'), -1)];
    },
  },
  samples: [
    { args: [tensor([5], { values: [-1, 0, 0, 0.5, 1] }), tensor(['n', 'm'])] },
    { args: [tensor([4], { dtype: 'int32', values: [1, 2, 2, 5] }), tensor(['n'], { dtype: 'int32', low: 0, high: 6 }), { side: 'right' }] },
    { args: [tensor([0]), tensor(['n'])] },
  ],
}); // prettier-ignore
