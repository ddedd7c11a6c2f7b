import * as attr from '../../base/attributes/attribute.js';
import { promoteAll } from '../../base/dtype.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { atLeast, equalSizes, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkIndexDType, indexDType, shapeOfOperand } from '../indexing/position.js';
import { checkShape, normalizeAxis, shapeToString } from '../declare/infer.js';
import type { Access } from '../declare/lowering.js';
import { clamped } from '../loops.js';
import { scatterLoops } from '../scatter.js';
import { zerosLike } from '../movement/fill.js';
import type { OnnxCall, OnnxValue } from '../declare/onnx.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { writeNumbers, writePlaces } from './onnx.js';

/*
 * Blocks whose place an array says: what a loop reads of a table, or writes into a buffer that it carries.
 * A start counts from the end where it is negative, and is then moved until the block lies within the
 * array, as in JAX; so there is nothing that could be outside.
 */

/** The axes along which a block is placed: one, with a start of rank 0, or several. Default all. */
export type PlacedAxes = number | readonly number[];

interface Placed {
  readonly axes: readonly number[];
}

/**
 * The block of `x` that starts at `start` and has extents of `sizes` along `axes` (default all) and all of
 * `x` along the others. `start` is an integer array of one element for each of these axes; for one axis,
 * given as a number, of rank 0. Negative starts count from the end; the block is clamped so that it lies
 * within `x`. A `ShapeError` where it is larger than `x`.
 */
export const dynamicSlice: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    start: Input<T>,
    sizes: ShapeArgument,
    axes?: PlacedAxes,
  ) => T
> = operator({
  name: 'dynamicSlice',
  family: 'dynamic',
  attributes: { sizes: attr.dims, axes: attr.ints },
  operands: ([x, start]) => [promoteAll([x]), indexDType(start)],
  call: (x, start, sizes, axes) => {
    const list = shapeList(sizes);
    return { inputs: [x, start], attributes: { sizes: list, axes: axisList(axes, list.length) } };
  },
  infer: ({ inputs: [x, start], attributes: { sizes, axes }, require }) => {
    const op = 'dynamicSlice';
    const along = checkStart(op, x, start, axes);
    if (sizes.length !== axes.length) {
      throw new ArgumentError('sizes and axes do not match', {
        op,
        expected: `${axes.length} sizes`,
        actual: shapeToString(sizes),
      });
    }
    checkShape(op, sizes, require);
    const shape = x.shape.map((dim, axis) => sizes[along.indexOf(axis)] ?? dim);
    checkRoom(op, x.shape, shape, require);
    return [{ dtype: x.dtype, shape }];
  },
  gradient: ({ inputs: [x, start], grads: [g], attributes: { axes } }) => [
    updateSlice(zerosLike(x), g!, start, axes),
    null,
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x, start], outputType, index, attributes }) => {
      const offsets = offsetsOf('dynamicSlice', x.shape, outputType.shape, start, attributes);
      return x.at(
        index.map((at, axis) => (offsets[axis] === null ? at : e.add(at, offsets[axis]))),
      );
    },
  },
  onnx: (call) => {
    const { onnx, inputs, inputTypes, outputTypes } = call;
    const [{ shape }, startType] = inputTypes;
    const [{ shape: block }] = outputTypes;
    const places = writePlaces(call, inputs[1], startType, shape, block);
    return places.reduce((x, { axis, first }) => {
      const numbers = onnx.node('Add', [writeNumbers(onnx, block[axis]), first]);
      return onnx.node('Gather', [x, numbers], { axis });
    }, inputs[0]);
  },
  samples: [
    {
      args: [tensor(['n', 3]), tensor([], { dtype: 'int32', low: -2, high: 9 }), [1], 0],
      least: { n: 1 },
    },
    { args: [tensor([5, 'm']), tensor([1], { dtype: 'int64', low: -5, high: 5 }), [2], [0]] },
    { args: [tensor([4, 5]), tensor([2], { dtype: 'int32', low: -2, high: 4 }), [3, 2]] },
    { args: [tensor(['n'], { dtype: 'int64' }), -1, 0, 0] },
  ],
});

/**
 * `x` with `update` written over the block of its extents that starts at `start`: see `dynamicSlice`. Along
 * axes that are not among `axes` (default all) both have the same extents.
 */
export const updateSlice: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    update: Input<T>,
    start: Input<T>,
    axes?: PlacedAxes,
  ) => T
> = operator({
  name: 'updateSlice',
  family: 'dynamic',
  attributes: { axes: attr.ints },
  operands: ([x, update, start]) => {
    const common = promoteAll([x, update]);
    return [common, common, indexDType(start)];
  },
  call: (x, update, start, axes) => ({
    inputs: [x, update, start],
    attributes: { axes: axisList(axes, shapeOfOperand('updateSlice', x).length) },
  }),
  infer: ({ inputs: [x, update, start], attributes: { axes }, require }) => {
    const op = 'updateSlice';
    const along = checkStart(op, x, start, axes);
    if (update.shape.length !== x.shape.length) {
      throw new ShapeError('the update has another rank', {
        op,
        expected: `rank ${x.shape.length}, as ${shapeToString(x.shape)}`,
        actual: shapeToString(update.shape),
      });
    }
    checkRoom(op, x.shape, update.shape, require);
    x.shape.forEach((dim, axis) => {
      if (along.includes(axis)) return;
      require(equalSizes(dim, update.shape[axis]), () => ({
        op,
        problem: words`the update does not fit axis ${String(axis)}`,
        expected: words`${dim}, since it is not placed along that axis`,
        actual: words`${update.shape}`,
      }));
    });
    return [x];
  },
  gradient: ({ inputs: [, update, start], grads: [g], needs, attributes: { axes } }) => [
    needs[0] ? updateSlice(g!, zerosLike(update), start, axes) : null,
    needs[1]
      ? dynamicSlice(
          g!,
          start,
          axes.map((axis) => update.type.shape.at(axis)!),
          axes,
        )
      : null,
    null,
  ],
  lowering: {
    kind: 'kernel',
    overwrites: 0,
    kernel: (context) => {
      const [x, update, start] = context.inputs;
      const offsets = offsetsOf('updateSlice', x.shape, update.shape, start, context.attributes);
      const places = offsets.map((_, axis) => e.variable(`start${axis}`, 'i32'));
      return e.block(
        ...offsets.flatMap((offset, axis) =>
          offset === null ? [] : [e.declare(places[axis], offset)],
        ),
        scatterLoops(context, {
          onto: x,
          domain: update.shape,
          target: (index) =>
            index.map((at, axis) => (offsets[axis] === null ? at : e.add(at, places[axis]))),
          value: (index) => update.at(index),
          combine: 'set',
          last: 'apart',
        }),
      );
    },
  },
  onnx: (call) => writeUpdate(call),
  samples: [
    {
      args: [tensor(['n', 3]), tensor([1, 3]), tensor([], { dtype: 'int32', low: -2, high: 9 }), 0],
      least: { n: 1 },
    },
    {
      args: [
        tensor([5, 'm']),
        tensor([2, 'm']),
        tensor([1], { dtype: 'int64', low: -5, high: 5 }),
        [0],
      ],
    },
    { args: [tensor([4, 5]), tensor([3, 2]), tensor([2], { dtype: 'int32', low: -2, high: 4 })] },
    { args: [tensor([4], { dtype: 'int8', low: 0, high: 9 }), [7], [2]] },
  ],
});

function axisList(axes: PlacedAxes | undefined, count: number): readonly number[] {
  if (typeof axes === 'number') return [axes];
  return axes ?? Array.from({ length: count }, (_, axis) => axis);
}

/** The placed axes come first while ScatterND writes. */
function writeUpdate(call: OnnxCall<Placed>): OnnxValue {
  const { onnx, inputs, inputTypes } = call;
  const [x, update, start] = inputs;
  const [{ shape }, { shape: block }, startType] = inputTypes;
  const places = writePlaces(call, start, startType, shape, block);
  const along = places.map(({ axis }) => axis);
  const order = [...along, ...shape.flatMap((_, axis) => (along.includes(axis) ? [] : [axis]))];
  const sizes = along.map((axis) => block[axis]);
  const indices = places.map(({ axis, first }, k) => {
    const numbers = onnx.node('Add', [writeNumbers(onnx, block[axis]), first]);
    const column = onnx.node('Reshape', [
      numbers,
      onnx.ints([...along.map((_, j) => (j === k ? -1 : 1)), 1]),
    ]);
    return onnx.node('Expand', [column, onnx.sizes([...sizes, 1])]);
  });
  const all = indices.length === 1 ? indices[0] : onnx.node('Concat', indices, { axis: along.length }); // prettier-ignore
  const written = onnx.node('ScatterND', [
    onnx.transpose(x, order),
    all,
    onnx.transpose(update, order),
  ]);
  return onnx.transpose(
    written,
    order.map((_, axis) => order.indexOf(axis)),
  );
}

/** The normalized axes of the start; refuses a start of a wrong dtype or shape. */
function checkStart(
  op: string,
  { shape }: TensorType,
  start: TensorType,
  axes: readonly number[],
): readonly number[] {
  checkIndexDType(op, start.dtype);
  const along = axes.map((axis) => normalizeAxis(op, axis, shape.length));
  if (new Set(along).size !== along.length) {
    throw new ArgumentError('an axis is named twice', {
      op,
      expected: 'each axis once',
      actual: shapeToString(axes),
    });
  }
  const fits =
    start.shape.length === 0
      ? axes.length === 1
      : start.shape.length === 1 && start.shape[0] === axes.length;
  if (fits) return along;
  throw new ShapeError('the start does not say where along each axis', {
    op,
    expected: `${axes.length} elements, one for each axis`,
    actual: shapeToString(start.shape),
  });
}

/** Requires that a block is not larger than its array. */
function checkRoom(op: string, shape: Shape, block: Shape, require: Require): void {
  shape.forEach((dim, axis) => {
    require(atLeast(dim, block[axis]), () => ({
      op,
      problem: words`the block is larger than the array on axis ${String(axis)}`,
      expected: words`at most ${shape}`,
      actual: words`${block}`,
    }));
  });
}

/** Start of a block along each axis, i32; null for axes along which it is not placed. */
function offsetsOf(
  op: string,
  shape: readonly Expr[],
  block: readonly Expr[],
  start: Access,
  { axes }: Placed,
): readonly (Expr | null)[] {
  const along = axes.map((axis) => normalizeAxis(op, axis, shape.length));
  return shape.map((extent, axis) => {
    const k = along.indexOf(axis);
    if (k < 0) return null;
    const raw = start.at(start.shape.length === 0 ? [] : [e.i32(k)]);
    const size = e.cast(raw.type.scalar, extent);
    const counted = e.select(e.lt(raw, 0), e.add(raw, size), raw);
    const last = e.cast(raw.type.scalar, e.sub(extent, block[axis]));
    return e.cast('i32', clamped(counted, 0, last));
  });
}
