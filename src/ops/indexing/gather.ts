import * as attr from '../../base/attributes/attribute.js';
import { isStatic, minDim, sameDim, elementCount } from '../../base/dim/index.js';
import { promoteAll } from '../../base/dtype.js';
import { atLeast, equalSizes, type Refusal, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import type { ElementCheck } from '../declare/check.js';
import { add } from '../elementwise/arithmetic.js';
import { equal, less } from '../elementwise/comparison.js';
import { cast } from '../elementwise/conversion.js';
import { clip } from '../elementwise/extremum.js';
import { where } from '../elementwise/selection.js';
import { normalizeAxis } from '../declare/infer.js';
import type { KernelContext } from '../declare/lowering.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { Scattering } from '../declare/scattering.js';
import { scatterLowering } from '../scatter.js';
import { fullLike, onesLike, zerosLike } from '../movement/fill.js';
import { flatten, reshape, reshaped } from '../movement/reshape.js';
import { moveaxis } from '../movement/transpose.js';
import { cumsum } from '../reduction/cumulative.js';
import { axisInRows, withRows } from '../reduction/rows.js';
import { oneHot } from './one-hot.js';
import { scatteredRows } from './rows.js';
import {
  type AxisArgument,
  axisOf,
  checkHostIndices,
  checkIndexDType,
  positionsCheck,
  indexDType,
  positionAt,
  readAlong,
  shapeOfOperand,
} from './position.js';

/*
 * Element-wise access along one axis, as PyTorch's `gather` and `scatter` and NumPy's
 * `take_along_axis`: `indices` has the rank of `x`, and every one of its elements names a position along
 * the axis, at the element's own index on the other axes. Negative positions count from the end.
 */

/**
 * `result[i][j][k] = x[i][indices[i][j][k]][k]` for axis 1; the result has the shape of `indices`, which on
 * the other axes must not be larger than `x`. The default axis is the last.
 */
export const gather: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, indices: Input<T>, axis?: AxisArgument) => T
> = operator({
  name: 'gather',
  family: 'indexing',
  attributes: { axis: attr.int },
  operands: ([x, indices]) => [promoteAll([x]), indexDType(indices)],
  call: (x, indices, axis) => {
    const attributes = { axis: axisOf(axis, -1) };
    checkPlainPositions('gather', x, indices, attributes.axis);
    return { inputs: [x, indices], attributes };
  },
  infer: ({ inputs: [x, indices], attributes: { axis }, require }) => {
    checkIndexDType('gather', indices.dtype);
    checkAligned('gather', x.shape, indices.shape, axis, require);
    return [{ dtype: x.dtype, shape: indices.shape }];
  },
  check: positionsAlong('gather'),
  gradient: ({ inputs: [x, indices], grads: [g], attributes: { axis } }) => [
    placed(x, indices, g!, normalizeAxis('gather', axis, x.type.shape.length)),
    null,
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x, indices], index, attributes }) => {
      const axis = normalizeAxis('gather', attributes.axis, index.length);
      const extent = x.shape[axis];
      const position = positionAt(indices.at(index), extent, 'error');
      return readAlong(extent, x.at(index.with(axis, position)));
    },
  },
  batch: {
    rows: (context) => {
      const [x, indices] = withRows(context);
      return [gather(x, indices, axisInRows(context.attributes.axis))];
    },
  },
  onnx: ({ onnx, inputs: [x, indices], inputTypes: [{ shape }], attributes }) =>
    onnx.node('GatherElements', [x, onnx.cast(indices, 'int64')], {
      axis: normalizeAxis('gather', attributes.axis, shape.length),
    }),
  samples: [
    { args: [tensor(['n', 3]), tensor(['n', 4], { dtype: 'int32', low: -3, high: 2 }), 1] },
    { args: [tensor([3, 'n']), tensor(['k', 'n'], { dtype: 'int64', low: -3, high: 2 }), 0] },
    { args: [tensor([3]), [2, 2, 0]] },
  ],
});

/**
 * Scatters `g` to the gathered indices. When there is one index for each row, it is computed elementwise and
 * fuses with its consumers.
 */
function placed<T extends Tensor>(x: T, indices: T, g: T, axis: number): T {
  const { shape } = x.type;
  const extent = shape[axis];
  const isOneOfRow = indices.type.shape.every((dim, at) =>
    sameDim(dim, at === axis ? 1 : shape[at]),
  );
  if (!isOneOfRow || !isStatic(extent) || extent === 0) {
    return scatterAdd(zerosLike(x), indices, g, axis);
  }
  const counted = where(less(indices, 0), add(indices, extent), indices);
  const position = cast(clip(counted, 0, extent - 1), 'int32');
  const rows = reshape(position, shape.toSpliced(axis, 1));
  return where(moveaxis(oneHot(rows, extent, { dtype: 'bool' }), -1, axis), g, 0);
}

/** `f(x, indices, updates, axis = -1)`; `updates` has the shape of `indices`. */
export type Scatter = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  indices: Input<T>,
  updates: Input<T>,
  axis?: AxisArgument,
) => T;

function scatterLike(
  name: string,
  combine: 'add' | 'set',
  gradientOfX: <T extends Tensor>(g: T, indices: T, updates: T, axis: number) => T,
  gradientOfUpdates: <T extends Tensor>(g: T, indices: T, axis: number) => T,
): OperatorFunction<Scatter> {
  return operator({
    name,
    family: 'indexing',
    attributes: { axis: attr.int },
    operands: ([x, indices, updates]) => {
      const common = promoteAll([x, updates]);
      return [common, indexDType(indices), common];
    },
    call: (x, indices, updates, axis) => {
      const attributes = { axis: axisOf(axis, -1) };
      checkPlainPositions(name, x, indices, attributes.axis);
      return { inputs: [x, indices, updates], attributes };
    },
    infer: ({ inputs: [x, indices, updates], attributes: { axis }, require }) => {
      checkIndexDType(name, indices.dtype);
      checkAligned(name, x.shape, indices.shape, axis, require);
      const refusal = (): Refusal => ({
        op: name,
        problem: words`there must be one update for each index`,
        expected: words`updates of shape ${indices.shape}`,
        actual: words`${updates.shape}`,
      });
      require(updates.shape.length === indices.shape.length, refusal);
      updates.shape.forEach((dim, k) => require(equalSizes(dim, indices.shape[k]), refusal));
      return [x];
    },
    check: positionsAlong(name),
    gradient: ({ inputs: [_x, indices, updates], grads: [g], needs, attributes: { axis } }) => [
      needs[0] ? gradientOfX(g!, indices, updates, axis) : null,
      null,
      needs[2] ? reshaped(gradientOfUpdates(g!, indices, axis), updates.type.shape) : null,
    ],
    lowering: {
      ...scatterLowering<{ readonly axis: number }>((context) => scatteringOf(context, combine)),
      overwrites: 0,
    },
    batch: scatteredRows(name, combine === 'add', (x, indices, updates, axis) =>
      combine === 'add'
        ? scatterAdd(x, indices, updates, axis)
        : scatter(x, indices, updates, axis),
    ),
    onnx: ({ onnx, inputs: [x, indices, updates], inputTypes: [{ shape }], attributes }) => {
      const axis = normalizeAxis(name, attributes.axis, shape.length);
      const operands = [x, onnx.cast(indices, 'int64'), updates];
      return onnx.node(
        'ScatterElements',
        operands,
        combine === 'add' ? { axis, reduction: 'add' } : { axis },
      );
    },
    samples: [
      {
        args: [
          tensor(['n', 3]),
          tensor(['n', 5], { dtype: 'int32', low: -3, high: 2 }),
          tensor(['n', 5]),
          1,
        ],
      },
      {
        args: [
          tensor([4, 'n']),
          tensor([2, 'n'], { dtype: 'int64', low: -4, high: 3 }),
          tensor([2, 'n']),
          0,
        ],
      },
      { args: [tensor([3]), [2, 2, 0], [1, 2, 3]] },
    ],
  });
}

function scatteringOf(
  { inputs, attributes }: KernelContext<{ readonly axis: number }>,
  combine: 'add' | 'set',
): Scattering {
  const [x, indices, updates] = inputs;
  const axis = normalizeAxis('scatter', attributes.axis, x.shape.length);
  return {
    onto: x,
    domain: indices.shape,
    target: (index) => index.with(axis, positionAt(indices.at(index), x.shape[axis], 'error')),
    value: (index) => updates.at(index),
    combine,
    ...(axis < x.shape.length - 1 && { last: 'rows' }),
    most: indices.shape[axis],
    from: (index) => (index as readonly (Expr | null)[]).with(axis, null),
  };
}

/**
 * `x` with `updates[i][j][k]` added at `[i][indices[i][j][k]][k]` for axis 1; colliding updates add up, in
 * row-major order. The default axis is the last.
 */
export const scatterAdd: OperatorFunction<Scatter> = scatterLike(
  'scatterAdd',
  'add',
  (g) => g,
  (g, indices, axis) => gather(g, indices, axis),
);

/**
 * `x` with `updates[i][j][k]` written to `[i][indices[i][j][k]][k]` for axis 1; of colliding updates the last
 * in row-major order wins. The default axis is the last.
 */
export const scatter: OperatorFunction<Scatter> = scatterLike(
  'scatter',
  'set',
  (g, indices, updates, axis) => scatter(g, indices, zerosLike(updates), axis),
  (g, indices, axis) => {
    // Only the winning update gets a gradient: number them, and see whose number remains.
    const ones = flatten(onesLike(indices, { dtype: 'int64' }));
    const numbers = reshape(cumsum(ones, 0), indices.type.shape);
    const stayed = scatter(fullLike(g, 0, { dtype: 'int64' }), indices, numbers, axis);
    return where(equal(gather(stayed, indices, axis), numbers), gather(g, indices, axis), 0);
  },
);

function checkPlainPositions(
  op: string,
  x: Input<Tensor>,
  indices: Input<Tensor>,
  axis: number,
): void {
  const shape = shapeOfOperand(op, x);
  checkHostIndices(op, indices, shape[normalizeAxis(op, axis, shape.length)]);
}

function positionsAlong(op: string): ElementCheck<{ readonly axis: number }> {
  return positionsCheck(
    op,
    ([{ shape }], { axis }) => shape[normalizeAxis(op, axis, shape.length)],
  );
}

/** Refuses indices of another rank, or larger than the array on the other axes. */
function checkAligned(
  op: string,
  shape: Shape,
  indices: Shape,
  along: number,
  require: Require,
): void {
  const axis = normalizeAxis(op, along, shape.length);
  const misaligned = (): Refusal => ({
    op,
    problem: words`the indices do not fit the array`,
    expected: words`rank ${shape.length} and, except on axis ${axis}, at most ${shape}`,
    actual: words`${indices}`,
  });
  require(indices.length === shape.length, misaligned);
  indices.forEach((dim, at) => {
    if (at !== axis) require(atLeast(shape[at], dim), misaligned);
  });
  require(atLeast(shape[axis], minDim(elementCount(indices), 1)), () => ({
    op,
    problem: words`axis ${axis} has no positions`,
    expected: words`an axis with at least one element, or no indices`,
    actual: words`${shape} with indices of shape ${indices}`,
  }));
}
