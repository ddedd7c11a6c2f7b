import * as attr from '../../base/attributes/attribute.js';
import { type Dim, minDim, elementCount, subDim } from '../../base/dim/index.js';
import { promoteAll } from '../../base/dtype.js';
import { atLeast, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import type { Expr } from '../../loop/language/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type Conversion,
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { rowShape } from '../declare/batch.js';
import { fullLike } from '../movement/fill.js';
import { flatten, reshape } from '../movement/reshape.js';
import { moveaxis } from '../movement/transpose.js';
import { sumOfRows, withRows } from '../reduction/rows.js';
import { scatterLowering } from '../scatter.js';
import { gather, scatterAdd } from './gather.js';
import { indicesInRows } from './rows.js';
import {
  checkHostIndices,
  checkIndexDType,
  positionsCheck,
  indexDType,
  type IndexMode,
  indexMode,
  positionAt,
  readAlong,
  shapeOfOperand,
} from './position.js';
import { gatheredBack } from './gathered-back.js';
import type { OnnxValue } from '../declare/onnx.js';

export interface TakeOptions {
  /** Default null: indices into the flattened array. */
  readonly axis?: number | null;
  readonly mode?: IndexMode;
}

interface TakeAttributes {
  readonly axis: number | null;
  readonly mode: IndexMode;
}

const operands: Conversion = ([x, indices]) => [promoteAll([x]), indexDType(indices)];

/**
 * The elements, or the sub-arrays along an axis, at `indices`, whose shape replaces the axis. `indices` is an
 * integer array of any shape, or plain data.
 */
export const take: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, indices: Input<T>, options?: TakeOptions) => T
> = operator({
  name: 'take',
  options: { at: 2, names: ['axis', 'mode'] },
  family: 'indexing',
  attributes: { axis: attr.optional(attr.int), mode: indexMode },
  operands,
  call: (x, indices, options) => {
    const { axis = null, mode = 'error' } = options ?? {};
    const shape = shapeOfOperand('take', x);
    if (mode === 'error') checkHostIndices('take', indices, extentOf(shape, axis));
    return { inputs: [x, indices], attributes: { axis, mode } };
  },
  infer: ({ inputs: [x, indices], attributes: { axis, mode }, require }) => {
    checkIndexDType('take', indices.dtype);
    if (mode !== 'valid') {
      require(atLeast(extentOf(x.shape, axis), minDim(elementCount(indices.shape), 1)), () => ({
        op: 'take',
        problem: words`there is nothing to take from`,
        expected: words`an axis with at least one element, or no indices`,
        actual: words`${x.shape} with indices of shape ${indices.shape}`,
      }));
    }
    return [{ dtype: x.dtype, shape: takenShape('take', x.shape, indices.shape, axis) }];
  },
  check: positionsCheck<TakeAttributes>('take', ([x], { axis, mode }) =>
    mode === 'error' ? extentOf(x.shape, axis) : null,
  ),
  gradient: ({ inputs: [x, indices], grads: [g], attributes }) => [
    takeAdjoint(g!, indices, x.type.shape, attributes),
    null,
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x, indices], inputTypes: [type], index, extent, attributes }) => {
      const size = extent(extentOf(type.shape, attributes.axis));
      return readAlong(size, x.at(sourceOf(index, x.shape, indices, size, attributes)));
    },
  },
  batch: {
    rows: (context) => {
      const { inputs: [x, indices], isBatched, length, outputTypes: [{ shape }], attributes } = context; // prettier-ignore
      const { axis, mode } = attributes;
      const row = rowShape(context, 0);
      const at = axis === null ? 0 : normalizeAxis('take', axis, row.length);
      if (!isBatched[0]) return [moveaxis(take(x, indices, attributes), at, 0)];
      const along = axis === null ? [elementCount(row)] : row;
      const rows = axis === null ? reshape(x, [length, ...along]) : x;
      if (!isBatched[1]) return [take(rows, indices, { axis: at + 1, mode })];
      const taken = gather(rows, indicesInRows(indices, along, at, mode), at + 1);
      return [reshape(taken, [length, ...shape])];
    },
  },
  onnx: ({ onnx, inputs: [x, indices], inputTypes: [{ shape }], attributes: { axis, mode } }) => {
    const at = axis === null ? 0 : normalizeAxis('take', axis, shape.length);
    const from = axis === null ? onnx.node('Reshape', [x, onnx.ints([-1])]) : x;
    const extent = (less: number): OnnxValue => onnx.size(subDim(extentOf(shape, axis), less));
    let places = onnx.cast(indices, 'int64');
    if (mode === 'wrap') places = onnx.node('Mod', [places, extent(0)]);
    if (mode === 'clip') {
      const above = onnx.node('Max', [places, onnx.scalar('int64', 0)]);
      places = onnx.node('Min', [above, extent(1)]);
    }
    return onnx.node('Gather', [from, places], { axis: at });
  },
  samples: [
    { args: [tensor(['n', 3]), [[2, 0], [1, -1]], { axis: 1 }] },
    { args: [tensor([4, 'm']), tensor(['k'], { dtype: 'int64', low: -4, high: 3 }), { axis: 0 }] },
    { args: [tensor([2, 3]), tensor(['k', 2], { dtype: 'int32', low: -6, high: 5 })] },
    { args: [tensor([5]), tensor(['k'], { dtype: 'int32', low: -9, high: 9 }), { axis: 0, mode: 'wrap' }] },
    { args: [tensor([5]), tensor(['k'], { dtype: 'int8', low: -9, high: 9 }), { axis: 0, mode: 'clip' }] },
  ],
}); // prettier-ignore

/** @internal The adjoint of `take`: adds each element to the index that it was taken from, in zeros of a shape. */
export const takeAdjoint: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    g: Input<T>,
    indices: Input<T>,
    shape: Shape,
    options?: TakeOptions,
  ) => T> = operator({
  name: 'takeAdjoint',
  options: { at: 3, names: ['axis', 'mode'] },
  family: 'indexing',
  attributes: { shape: attr.dims, axis: attr.optional(attr.int), mode: indexMode },
  method: false,
  operands,
  call: (g, indices, shape, options) => {
    const { axis = null, mode = 'error' } = options ?? {};
    return { inputs: [g, indices], attributes: { shape, axis, mode } };
  },
  infer: ({ inputs: [g, indices], attributes: { shape, axis }, require }) => {
    checkIndexDType('takeAdjoint', indices.dtype);
    requireShape(g.shape, gradientShape(g.shape, shape, indices.shape, axis), require);
    return [{ dtype: g.dtype, shape }];
  },
  meetings: ([g, indices], { shape, axis }) =>
    shapeMeetings(0, g, gradientShape(g, shape, indices, axis)),
  check: positionsCheck<TakeAttributes & { readonly shape: Shape }>('takeAdjoint', (_types, { shape, axis, mode }) =>
    mode === 'error' ? extentOf(shape, axis) : null,
  ),
  gradient: ({ inputs: [_g, indices], grads: [gg], attributes: { axis, mode } }) => [
    take(gg!, indices, { axis, mode }),
    null,
  ],
  lowering: scatterLowering<TakeAttributes & { readonly shape: Shape }>((context) => {
    const { inputs, inputTypes, outputs, attributes, extent } = context;
    const [g, indices] = inputs;
    const { shape } = outputs[0];
    const size = extent(extentOf(attributes.shape, attributes.axis));
    const axis = attributes.axis === null ? null : normalizeAxis('takeAdjoint', attributes.axis, shape.length); // prettier-ignore
    const isLast = axis === null || axis === shape.length - 1;
    const taken = indices.shape.map(() => null);
    return {
      domain: g.shape,
      target: (index) => sourceOf(index, shape, indices, size, attributes),
      value: (index) => g.at(index),
      ...(!isLast && { last: 'rows' }),
      most: extent(elementCount(inputTypes[1].shape)),
      from: (index) =>
        axis === null ? taken : [...index.slice(0, axis), ...taken, ...index.slice(axis + 1)],
    };
  }),
  batch: {
    rows: (context) => {
      const { isBatched, length, attributes: { shape, axis, mode } } = context; // prettier-ignore
      const at = axis === null ? 0 : normalizeAxis('takeAdjoint', axis, shape.length);
      const along = axis === null ? [elementCount(shape)] : shape;
      if (!isBatched[1]) {
        const [g, indices] = context.inputs;
        const flat = axis === null ? reshape(g, [length, elementCount(indices.type.shape)]) : g;
        const places = axis === null ? flatten(indices) : indices;
        const back = takeAdjoint(flat, places, [length, ...along], { axis: at + 1, mode });
        return [reshape(back, [length, ...shape])];
      }
      const [g, indices] = withRows(context);
      const places = indicesInRows(indices, along, at, mode);
      const zeros = fullLike(g, 0, { dtype: g.type.dtype, shape: [length, ...along] });
      const back = scatterAdd(zeros, places, reshape(g, places.type.shape), at + 1);
      return [reshape(back, [length, ...shape])];
    },
    zeroWith: [0],
    // What rows add to one array is added to it by all of their indices.
    total: (context) => {
      const { isBatched, attributes: { shape, ...options } } = context; // prettier-ignore
      if (!isBatched[1]) {
        const [g, indices] = context.inputs;
        return takeAdjoint(sumOfRows(g), indices, shape, options);
      }
      const [g, indices] = withRows(context);
      const { axis } = options;
      const at = axis === null ? 0 : normalizeAxis('takeAdjoint', axis, shape.length);
      return takeAdjoint(moveaxis(g, 0, at), indices, shape, options);
    },
  },
  onnx: {
    composed: ({ inputs: [g, indices], attributes: { shape, ...options } }) => [
      gatheredBack(g, shape, (numbers) => take(numbers, indices, options)),
    ],
  },
  samples: [
    { args: [tensor([3, 2]), [4, 0, 4], [5, 2], { axis: 0 }] },
    { args: [tensor([2, 3]), tensor([3], { dtype: 'int64', values: [1, -1, 1] }), [2, 4], { axis: 1 }] },
    { args: [tensor([4]), [0, 5, 5, 2], [2, 3]] },
  ],
}); // prettier-ignore

function extentOf(shape: Shape, axis: number | null): Dim {
  return axis === null ? elementCount(shape) : shape[normalizeAxis('take', axis, shape.length)];
}

function takenShape(op: string, shape: Shape, indices: Shape, axis: number | null): Shape {
  return axis === null
    ? indices
    : shape.toSpliced(normalizeAxis(op, axis, shape.length), 1, ...indices);
}

/** The shape that `takeAdjoint` asks of its gradient. */
function gradientShape(g: Shape, shape: Shape, indices: Shape, axis: number | null): RequiredShape {
  const op = 'takeAdjoint';
  const problem = words`the gradient does not have the shape of what was taken`;
  return requiredShape(op, problem, takenShape(op, shape, indices, axis), g);
}

/** Source index of a result element. */
function sourceOf(
  index: readonly Expr[],
  shape: readonly Expr[],
  indices: { readonly shape: readonly Expr[]; at(index: readonly Expr[]): Expr },
  size: Expr,
  { axis, mode }: TakeAttributes,
): readonly Expr[] {
  if (axis === null)
    return unravel(positionAt(indices.at(index), size, mode), shape); // prettier-ignore
  const at = normalizeAxis('take', axis, shape.length);
  const rank = indices.shape.length;
  const position = positionAt(indices.at(index.slice(at, at + rank)), size, mode);
  return [...index.slice(0, at), position, ...index.slice(at + rank)];
}
