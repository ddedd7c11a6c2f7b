import * as attr from '../../base/attributes/attribute.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';

type Shard = <T extends Tensor = DefaultTensor>(x: Input<T>, axes: readonly (string | null)[]) => T;

/** Mesh axes by axis of the operand; they travel in text, so that names are plain words. */
const isAxis = (axis: string | null): boolean => axis === null || /^[A-Za-z_]\w*$/.test(axis);

/**
 * `x` itself, divided over a mesh of devices where the program runs on one: `axes` has an axis of the mesh for each
 * axis of `x`, or null where the division is left open. Its gradient is divided alike. On one machine nothing happens.
 *
 * @throws ShapeError unless there is one entry for each axis; ArgumentError for names that repeat, and for others than
 * words of letters, digits and `_`.
 */
export const shard: OperatorFunction<Shard> = operator({
  name: 'shard',
  family: 'structure',
  attributes: { axes: attr.list(attr.optional(attr.string)) },
  method: false,
  operands: 'keep',
  call: (x: Input<Tensor>, axes: readonly (string | null)[]) => ({
    inputs: [x],
    attributes: { axes },
  }),
  infer({ inputs: [x], attributes: { axes } }) {
    const named = axes.filter((axis) => axis !== null);
    if (!axes.every(isAxis) || new Set(named).size < named.length) {
      throw new ArgumentError('these are not axes of a mesh', {
        op: 'shard',
        expected: 'different names of letters, digits and _, or null',
        actual: attr.describe(axes),
      });
    }
    if (axes.length === x.shape.length) return [x];
    throw new ShapeError('the division has another rank than the array', {
      op: 'shard',
      expected: `${x.shape.length} entries, one for each axis of ${shapeToString(x.shape)}`,
      actual: attr.describe(axes),
    });
  },
  gradient: ({ grads: [g], attributes: { axes } }) => [g === null ? null : shard(g, axes)],
  lowering: { kind: 'view' },
  batch: {
    isLinear: true,
    rows: ({ inputs: [x], attributes: { axes } }) => [shard(x, [null, ...axes])],
  },
  samples: [
    { args: [tensor(['n', 2]), ['data', null]] },
    { args: [tensor([]), []] },
    { args: [tensor(['n', 2, 3]), [null, 'model', 'data']] },
  ],
});
