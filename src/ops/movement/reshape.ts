import * as attr from '../../base/attributes/attribute.js';
import { type Dim, floorDivDim, sameShape, elementCount } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import {
  atLeast,
  divisible,
  equalSizes,
  type Refusal,
  type Require,
  words,
} from '../../ir/requirement.js';
import { describeHost } from '../../ir/host.js';
import { type Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Gradient,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { openExtents } from '../dynamic/completed-sizes.js';
import { sizesFromElements } from '../dynamic/extents.js';
import { checkShape, normalizeAxes, shapeToString } from '../declare/infer.js';
import { callOf, example, type Law } from '../declare/law.js';
import type { ViewLowering } from '../declare/lowering.js';
import { type Axes, axisList, type ShapeArgument, shapeList } from '../signatures.js';

/*
 * Operators that change the shape and nothing else. All are views, and `reshape` is the adjoint of each.
 */

const view: ViewLowering = { kind: 'view' };

const reshapings: readonly Law[] = [
  {
    name: 'own-shape',
    law: 'reshape(x, shape(x)) = x',
    cases: [
      example([tensor(['n', 4])], (x) => reshape(x, [-1, 4])),
      example([tensor(['n'])], (x) => flatten(x)),
      example([tensor(['n', 2])], (x) => squeeze(x)),
      example([tensor(['n'])], (x) => expandDims(x, [])),
    ],
    apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
  },
  {
    name: 'reshape-reshaped',
    law: 'reshape(reshape(x, s), t) = reshape(x, t)',
    cases: [
      example([tensor(['n', 4])], (x) => reshape(reshape(x, [-1, 2, 2]), [4, -1])),
      example([tensor(['n', 4])], (x) => squeeze(expandDims(x, 1), 1)),
      example([tensor(['n', 4])], (x) => expandDims(flatten(x), 0)),
      example([tensor([3, 'n'])], (x) => flatten(reshape(x, [-1, 3]))),
    ],
    apply: ({ inputs: [y], type }) => {
      for (const f of [reshape, expandDims, squeeze, flatten]) {
        const inner = callOf(y, f);
        if (inner !== null) return reshape(inner.inputs[0], type.shape);
      }
      return null;
    },
  },
];

const restoreShape: Gradient = ({ inputs: [x], grads: [g] }) => [reshape(g!, x.type.shape)];

/**
 * The same elements in row-major order with another shape. One extent may be -1, which is inferred. A
 * `ShapeError` where the number of elements would change; conditions on symbolic extents become requirements.
 * The shape may be an integer array, with -1 in it as well.
 */
export const reshape: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: ShapeArgument) => T
> = operator({
  name: 'reshape',
  family: 'movement',
  attributes: { shape: attr.dims },
  operands: 'keep',
  call: (x, shape) => ({
    inputs: [x],
    attributes: { shape: shape instanceof Tensor ? shapeIn(shape, x) : shapeList(shape) },
  }),
  infer: ({ inputs: [x], attributes: { shape }, require }) => [
    { dtype: x.dtype, shape: resolveShape(x.shape, shape, require) },
  ],
  gradient: restoreShape,
  lowering: view,
  simplify: reshapings,
  samples: [
    { args: [tensor(['n', 4]), [-1, 2, 2]] },
    { args: [tensor([2, 'm']), -1] },
    { args: [tensor([1]), []] },
  ],
});

/** The shape held by an array. Where it is not known yet, -1 is inferred at run time. */
function shapeIn(shape: Tensor, x: Input<Tensor>): readonly Dim[] {
  const from = x instanceof Tensor ? x.type.shape : describeHost(x, 'reshape').shape;
  return sizesFromElements(shape, () => openExtents(shape, elementCount(from)).type.shape);
}

/** The shape with its -1 inferred, when it has as many elements as `from`. */
function resolveShape(from: Shape, shape: Shape, require: Require): Shape {
  const unknown = shape.flatMap((dim, axis) => (dim === -1 ? [axis] : []));
  if (unknown.length > 1) {
    throw new ArgumentError('only one extent can be computed', {
      op: 'reshape',
      expected: 'at most one -1',
      actual: shapeToString(shape),
    });
  }
  const known = shape.filter((dim) => dim !== -1);
  checkShape('reshape', known, require);
  const size = elementCount(from);
  const knownSize = elementCount(known);
  const differentSize = (): Refusal => ({
    op: 'reshape',
    problem: words`the number of elements would change`,
    expected: words`a shape of ${size} elements, as ${from} has`,
    actual: words`${shape}`,
  });
  if (unknown.length === 0) {
    require(equalSizes(size, knownSize), differentSize);
    return shape;
  }
  require(atLeast(knownSize, 1), differentSize);
  require(divisible(size, knownSize), differentSize);
  const computed = floorDivDim(size, knownSize);
  return shape.map((dim) => (dim === -1 ? computed : dim));
}

/**
 * `x` with new axes of size 1. `axis` gives their positions in the result: one, or several distinct ones;
 * negative ones count from the end of the result's shape.
 */
export const expandDims: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis: number | readonly number[]) => T
> = operator({
  name: 'expandDims',
  family: 'movement',
  attributes: { axes: attr.ints },
  operands: 'keep',
  call: (x, axis) => ({ inputs: [x], attributes: { axes: axisList(axis) ?? [] } }),
  infer: ({ inputs: [x], attributes: { axes } }) => {
    const rank = x.shape.length + axes.length;
    const added = new Set(normalizeAxes('expandDims', axes, rank));
    const old = x.shape[Symbol.iterator]();
    const shape = Array.from({ length: rank }, (_, axis): Dim =>
      added.has(axis) ? 1 : (old.next().value as Dim),
    );
    return [{ dtype: x.dtype, shape }];
  },
  gradient: restoreShape,
  lowering: view,
  simplify: reshapings,
  samples: [{ args: [tensor(['n', 'm']), 1] }, { args: [tensor(['n']), [0, -1]] }],
});

/**
 * `x` without axes of size 1: the named ones, or by default all whose size is known to be 1. A `ShapeError`
 * when a named axis has another size.
 */
export const squeeze: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis?: Axes) => T
> = operator({
  name: 'squeeze',
  family: 'movement',
  attributes: { axes: attr.optional(attr.ints) },
  operands: 'keep',
  call: (x, axis) => ({ inputs: [x], attributes: { axes: axisList(axis) } }),
  infer: ({ inputs: [x], attributes: { axes }, require }) => {
    const removed =
      axes === null
        ? x.shape.flatMap((dim, axis) => (dim === 1 ? [axis] : []))
        : normalizeAxes('squeeze', axes, x.shape.length);
    for (const axis of removed) {
      require(equalSizes(x.shape[axis], 1), () => ({
        op: 'squeeze',
        problem: words`axis ${axis} cannot be removed`,
        expected: words`size 1 on axis ${axis}`,
        actual: words`${x.shape}`,
      }));
    }
    return [{ dtype: x.dtype, shape: x.shape.filter((_, axis) => !removed.includes(axis)) }];
  },
  gradient: restoreShape,
  lowering: view,
  simplify: reshapings,
  samples: [
    { args: [tensor(['n', 1, 3, 1])], least: { n: 2 } },
    { args: [tensor([1, 'n', 1]), -1] },
  ],
});

/** `x` in a shape of equal sizes, where they may be equal only by a requirement of a call. */
export function reshaped<T extends Tensor>(x: T, shape: Shape): T {
  return sameShape(x.type.shape, shape) ? x : reshape(x, shape);
}

/** All elements of `x` in row-major order, as rank 1. */
export const flatten: OperatorFunction<<T extends Tensor = DefaultTensor>(x: Input<T>) => T> =
  operator({
    name: 'flatten',
    family: 'movement',
    attributes: {},
    operands: 'keep',
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x] }) => [{ dtype: x.dtype, shape: [elementCount(x.shape)] }],
    gradient: restoreShape,
    lowering: view,
    simplify: reshapings,
    samples: [{ args: [tensor(['n', 3, 'm'])] }, { args: [tensor([])] }],
  });
