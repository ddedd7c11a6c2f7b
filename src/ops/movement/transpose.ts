import * as attr from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import type { Value } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import type { Batching } from '../declare/batch.js';
import { normalizeAxes, normalizeAxis, shapeToString } from '../declare/infer.js';
import { example, type Law } from '../declare/law.js';
import type { PointLowering } from '../declare/lowering.js';
import { axisList } from '../signatures.js';
import { reshape } from './reshape.js';
import type { OnnxMapping } from '../declare/onnx.js';

/** A permutation of axes: axis `k` of the result is axis `order[k]` of the operand. */
type Order = readonly number[];

/** The lowering of a permutation that depends on the attributes and the rank. */
function permuted<A>(orderOf: (attributes: A, rank: number) => Order): PointLowering<A> {
  return {
    kind: 'point',
    elementwise: false,
    point: ({ attributes, inputs: [x], index }) => {
      const at: Expr[] = [];
      orderOf(attributes, index.length).forEach((from, to) => (at[from] = index[to]));
      return x.at(at);
    },
  };
}

/** ONNX facet of a permutation. */
function permutedInOnnx<A>(orderOf: (attributes: A, rank: number) => Order): OnnxMapping<A> {
  return ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes }) =>
    onnx.transpose(x, orderOf(attributes, shape.length));
}

/** Batching rule: a permutation of the axes of rows leaves the axis of the rows in place. */
function permutedRows<A>(orderOf: (attributes: A, rank: number) => Order): Batching<A> {
  return {
    isLinear: true,
    rows: ({ inputs: [x], attributes }) => [
      transpose(x, [0, ...orderOf(attributes, x.type.shape.length - 1).map((axis) => axis + 1)]),
    ],
  };
}

/** The laws of a permutation; `orderOf` reads its own attributes. */
function permutationLaws<A>(orderOf: (attributes: A, rank: number) => Order): readonly Law<A>[] {
  return [
    {
      name: 'permute-permuted',
      law: 'transpose(transpose(x, p), q) = transpose(x, p[q])',
      cases: [
        example([tensor(['n', 2, 'm'])], (x) => transpose(transpose(x, [1, 2, 0]), [0, 2, 1])),
        example([tensor(['n', 2, 'm'])], (x) => swapaxes(moveaxis(x, 0, -1), 0, 1)),
        example([tensor(['n', 2, 'm'])], (x) => moveaxis(swapaxes(x, 0, 1), 2, 0)),
      ],
      apply: ({ inputs: [y], attributes }) => {
        const inner = permutationOf(y);
        if (inner === null) return null;
        const { x, order } = inner;
        return transpose(
          x,
          orderOf(attributes, order.length).map((axis) => order[axis]),
        );
      },
    },
    {
      name: 'order-kept',
      law: 'transpose(x, p) = reshape(x) where p keeps the order of the axes that are not of size 1',
      cases: [
        example([tensor(['n', 2, 'm'])], (x) => transpose(x, [0, 1, 2])),
        example([tensor([1, 'n', 1, 3])], (x) => transpose(x, [2, 1, 3, 0])),
        example([tensor(['n', 1])], (x) => swapaxes(x, 0, 1)),
        example([tensor(['n', 1, 'm'])], (x) => moveaxis(x, 1, 0)),
      ],
      apply: ({ inputs: [x], attributes, type }) => {
        const wide = orderOf(attributes, x.type.shape.length).filter(
          (axis) => x.type.shape[axis] !== 1,
        );
        return wide.every((axis, k) => k === 0 || wide[k - 1] < axis)
          ? reshape(x, type.shape)
          : null;
      },
    },
  ];
}

/** The operand and order of a permutation; null for other values. */
function permutationOf(value: Value): { readonly x: Value; readonly order: Order } | null {
  const { program } = value;
  const node = program.node(value.node);
  if (node.kind !== 'call') return null;
  let orderOf: (attributes: never, rank: number) => Order;
  if (node.op === transpose.declaration) orderOf = transposeOrder;
  else if (node.op === swapaxes.declaration) orderOf = swapOrder;
  else if (node.op === moveaxis.declaration) orderOf = moveOrder;
  else return null;
  // The operator's own attributes, as its schema has checked them.
  const order = orderOf(node.attributes as never, value.type.shape.length);
  return { x: program.operands(value.node)[0], order };
}

/** The operand of a swap of the last two axes; null for other values. */
export function turnedFrom(value: Value): Value | null {
  const permutation = permutationOf(value);
  if (permutation === null) return null;
  const { x, order } = permutation;
  const rank = order.length;
  const isTurned = order.every((from, to) => from === (to < rank - 2 ? to : 2 * rank - 3 - to));
  return isTurned && rank >= 2 ? x : null;
}

/**
 * `x` with its axes in another order: axis `k` of the result is axis `axes[k]` of `x`. Without `axes`
 * the order is reversed, which transposes a matrix.
 */
export const transpose: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axes?: readonly number[] | null) => T
> = operator({
  name: 'transpose',
  family: 'movement',
  attributes: { axes: attr.optional(attr.ints) },
  operands: 'keep',
  call: (x, axes) => ({ inputs: [x], attributes: { axes: axes ?? null } }),
  infer: ({ inputs: [x], attributes }) => [
    {
      dtype: x.dtype,
      shape: transposeOrder(attributes, x.shape.length).map((axis) => x.shape[axis]),
    },
  ],
  gradient: ({ grads: [g], attributes }) => {
    const inverse: number[] = [];
    transposeOrder(attributes, g!.type.shape.length).forEach((from, to) => (inverse[from] = to));
    return [transpose(g!, inverse)];
  },
  lowering: permuted(transposeOrder),
  onnx: permutedInOnnx(transposeOrder),
  batch: permutedRows(transposeOrder),
  simplify: permutationLaws(transposeOrder),
  samples: [
    { args: [tensor(['n', 'm'])] },
    { args: [tensor(['n', 2, 'm']), [2, 0, 1]] },
    { args: [tensor(['n', 2, 'm']), [-2, -1, 0]] },
  ],
});

function transposeOrder(
  { axes }: { readonly axes: readonly number[] | null },
  rank: number,
): Order {
  if (axes === null) return Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
  normalizeAxes('transpose', axes, rank);
  if (axes.length !== rank) {
    throw new ArgumentError('the order must name every axis once', {
      op: 'transpose',
      expected: `${rank} axes`,
      actual: shapeToString(axes),
    });
  }
  return axes.map((axis) => normalizeAxis('transpose', axis, rank));
}

/** `x` with two axes swapped. */
export const swapaxes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis1: number, axis2: number) => T
> = operator({
  name: 'swapaxes',
  family: 'movement',
  attributes: { axis1: attr.int, axis2: attr.int },
  operands: 'keep',
  call: (x, axis1, axis2) => ({ inputs: [x], attributes: { axis1, axis2 } }),
  infer: ({ inputs: [x], attributes }) => [
    { dtype: x.dtype, shape: swapOrder(attributes, x.shape.length).map((axis) => x.shape[axis]) },
  ],
  gradient: ({ grads: [g], attributes: { axis1, axis2 } }) => [swapaxes(g!, axis1, axis2)],
  lowering: permuted(swapOrder),
  onnx: permutedInOnnx(swapOrder),
  batch: permutedRows(swapOrder),
  simplify: permutationLaws(swapOrder),
  samples: [{ args: [tensor(['n', 2, 'm']), 0, -1] }],
});

function swapOrder(
  { axis1, axis2 }: { readonly axis1: number; readonly axis2: number },
  rank: number,
): Order {
  const a = normalizeAxis('swapaxes', axis1, rank);
  const b = normalizeAxis('swapaxes', axis2, rank);
  const order: number[] = [];
  for (let axis = 0; axis < rank; axis++) order.push(axis === a ? b : axis === b ? a : axis);
  return order;
}

/**
 * `x` with axes moved to other positions, the others keeping their order: `source[k]` becomes axis
 * `destination[k]` of the result.
 */
export const moveaxis: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    source: number | readonly number[],
    destination: number | readonly number[],
  ) => T
> = operator({
  name: 'moveaxis',
  family: 'movement',
  attributes: { source: attr.ints, destination: attr.ints },
  operands: 'keep',
  call: (x, source, destination) => ({
    inputs: [x],
    attributes: { source: axisList(source) ?? [], destination: axisList(destination) ?? [] },
  }),
  infer: ({ inputs: [x], attributes }) => [
    { dtype: x.dtype, shape: moveOrder(attributes, x.shape.length).map((axis) => x.shape[axis]) },
  ],
  gradient: ({ grads: [g], attributes: { source, destination } }) => [
    moveaxis(g!, destination, source),
  ],
  lowering: permuted(moveOrder),
  onnx: permutedInOnnx(moveOrder),
  batch: permutedRows(moveOrder),
  simplify: permutationLaws(moveOrder),
  samples: [
    { args: [tensor(['n', 2, 'm']), 0, -1] },
    { args: [tensor(['n', 2, 'm', 3]), [0, 1], [-1, 0]] },
  ],
});

function moveOrder(
  { source, destination }: { readonly source: Order; readonly destination: Order },
  rank: number,
): Order {
  if (source.length !== destination.length) {
    throw new ArgumentError('source and destination have different numbers of axes', {
      op: 'moveaxis',
      expected: `${source.length} destinations`,
      actual: shapeToString(destination),
    });
  }
  normalizeAxes('moveaxis', source, rank);
  normalizeAxes('moveaxis', destination, rank);
  const order = Array.from({ length: rank }, () => -1);
  source.forEach((axis, k) => {
    order[normalizeAxis('moveaxis', destination[k], rank)] = normalizeAxis('moveaxis', axis, rank);
  });
  let next = 0;
  return order.map((axis) => {
    if (axis >= 0) return axis;
    while (order.includes(next)) next++;
    return next++;
  });
}
