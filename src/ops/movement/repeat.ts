import * as attr from '../../base/attributes/attribute.js';
import { type Dim, mulDim, elementCount } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { repeatEach } from '../dynamic/repeat-each.js';
import { checkShape, normalizeAxis } from '../declare/infer.js';
import { broadcastTo, sum } from '../reduction/sum.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { expandDims, reshape } from './reshape.js';

/**
 * Repeats `x` as a whole: `repeats[k]` copies along axis `k`. Missing axes are added in front, as in NumPy;
 * one number is for the last axis.
 */
export const tile: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, repeats: ShapeArgument) => T
> = operator({
  name: 'tile',
  family: 'movement',
  attributes: { repeats: attr.dims },
  operands: 'keep',
  call: (x, repeats) => ({ inputs: [x], attributes: { repeats: shapeList(repeats) } }),
  infer: ({ inputs: [x], attributes: { repeats }, require }) => {
    checkShape('tile', repeats, require);
    const pairs = tilePairs(x.shape, repeats);
    return [{ dtype: x.dtype, shape: pairs.map(([count, extent]) => mulDim(count, extent)) }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { repeats } }) => {
    const pairs = tilePairs(x.type.shape, repeats);
    const copies = sum(
      reshape(g!, pairs.flat()),
      pairs.map((_, axis) => 2 * axis),
    );
    return [reshape(copies, x.type.shape)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], outputTypes: [{ shape }], attributes: { repeats } }) => {
      const pairs = tilePairs(x.type.shape, repeats);
      const single = reshape(
        x,
        pairs.flatMap(([, extent]) => [1, extent]),
      );
      return [reshape(broadcastTo(single, pairs.flat()), shape)];
    },
  },
  samples: [
    { args: [tensor(['n', 2]), [2, 3]] },
    { args: [tensor(['n']), [2, 2]] },
    { args: [tensor([2, 'n']), 2] },
    { args: [tensor(['n'], { dtype: 'int32' }), 0] },
  ],
});

/** For each axis of the result the repeat count and the extent. */
function tilePairs(shape: Shape, repeats: readonly Dim[]): readonly [Dim, Dim][] {
  const rank = Math.max(shape.length, repeats.length);
  return Array.from({ length: rank }, (_, axis) => [
    repeats[axis - rank + repeats.length] ?? 1,
    shape[axis - rank + shape.length] ?? 1,
  ]);
}

const repeatAll: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, count: number, axis?: number | null) => T
> = operator({
  name: 'repeat',
  family: 'movement',
  attributes: { count: attr.int, axis: attr.optional(attr.int) },
  operands: 'keep',
  call: (x, count, axis = null) => ({ inputs: [x], attributes: { count, axis } }),
  infer: ({ inputs: [x], attributes: { count, axis } }) => {
    if (count < 0) {
      throw new ArgumentError('elements cannot repeat a negative number of times', {
        op: 'repeat',
        expected: 'a count of 0 or more',
        actual: String(count),
      });
    }
    if (axis === null) return [{ dtype: x.dtype, shape: [mulDim(elementCount(x.shape), count)] }];
    const at = normalizeAxis('repeat', axis, x.shape.length);
    return [{ dtype: x.dtype, shape: x.shape.with(at, mulDim(x.shape[at], count)) }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { count, axis } }) => {
    const { shape } = x.type;
    const inner = innerAxis(shape, axis);
    const apart = reshape(g!, shape.toSpliced(inner, 0, count));
    return [sum(apart, inner)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], outputTypes: [type], attributes: { count, axis } }) => {
      const { shape } = x.type;
      const inner = innerAxis(shape, axis);
      const apart = broadcastTo(expandDims(x, inner), shape.toSpliced(inner, 0, count));
      return [reshape(apart, type.shape)];
    },
  },
  samples: [
    { args: [tensor(['n', 2]), 3, 0] },
    { args: [tensor([2, 'm']), 2, -1] },
    { args: [tensor(['n', 2]), 2] },
    { args: [tensor(['n'], { dtype: 'bool' }), 0, 0] },
  ],
});

type Repeat = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  count: number | readonly number[] | Tensor,
  axis?: number | null,
) => T;

/**
 * Repeats every element of `x` `count` times along an axis; without an axis (or with null) the elements of
 * the flattened `x`. A list or an integer array holds one count for each element, see `repeatEach`.
 */
export const repeat: OperatorFunction<Repeat> = Object.assign(
  ((x, count, axis) =>
    typeof count === 'number'
      ? repeatAll(x, count, axis)
      : repeatEach(x, count as Input<typeof x & Tensor>, axis)) as Repeat,
  { declaration: repeatAll.declaration },
) as OperatorFunction<Repeat>;

/** The axis of the copies in the expanded form: directly after the repeated axis. */
function innerAxis(shape: Shape, axis: number | null): number {
  return axis === null ? shape.length : normalizeAxis('repeat', axis, shape.length) + 1;
}
