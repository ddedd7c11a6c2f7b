import * as attr from '../../base/attributes/attribute.js';
import { boundsOf, type Dim, elementCount } from '../../base/dim/index.js';
import type { HostValue } from '../../ir/host.js';
import type { InferContext } from '../../ir/operator.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import {
  type Declaration,
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { sub } from '../elementwise/arithmetic.js';
import { scatter } from '../indexing/gather.js';
import { argsort } from '../indexing/sort.js';
import { take, takeAdjoint } from '../indexing/take.js';
import { normalizeAxis } from '../declare/infer.js';
import { onesLike, zerosLike } from '../movement/fill.js';
import { flatten, reshape } from '../movement/reshape.js';
import { moveaxis } from '../movement/transpose.js';
import { cumsum } from '../reduction/cumulative.js';
import { sum } from '../reduction/sum.js';
import type { OnnxCall, OnnxValue } from '../declare/onnx.js';
import { writeDistinctRows } from './onnx.js';
import { countedPositions } from './positions.js';
import { argsortRows, runStarts } from './sorted-rows.js';

export interface UniqueOptions {
  /** The axis whose sub-arrays are compared; null, the default, compares single elements. */
  readonly axis?: number | null;
  /** Also return `index`: the first occurrence of each value, along the axis or in the flattened array. */
  readonly returnIndex?: boolean;
  /** Also return `inverse`: for each element (or sub-array), the number of its value. */
  readonly returnInverse?: boolean;
  /** Also return `counts`: the number of occurrences of each value. */
  readonly returnCounts?: boolean;
}

interface Parts {
  readonly returnIndex: 'index';
  readonly returnInverse: 'inverse';
  readonly returnCounts: 'counts';
}

type Asked<O> = {
  [K in keyof Parts]: K extends keyof O ? (true extends O[K] ? Parts[K] : never) : never;
}[keyof Parts];

/** The values alone, or a record of them and the positions and counts, `I`, that the options ask for. */
export type UniqueResult<T, O, I = T> = [Asked<O>] extends [never]
  ? T
  : { readonly [K in 'values' | Asked<O>]: K extends 'values' ? T : I };

/** `f(x, { axis, returnIndex, returnInverse, returnCounts })`. */
export interface Unique {
  <T extends Tensor, const O extends UniqueOptions = object>(x: T, options?: O): UniqueResult<T, O>;
  <const O extends UniqueOptions = object>(
    x: HostValue,
    options?: O,
  ): UniqueResult<DefaultTensor, O>;
  readonly declaration: Declaration & { readonly method: true };
}

const attributes = {
  axis: attr.optional(attr.int),
  index: attr.bool,
  inverse: attr.bool,
  counts: attr.bool,
};

interface UniqueAttributes {
  readonly axis: number | null;
  readonly index: boolean;
  readonly inverse: boolean;
  readonly counts: boolean;
}

/** The values, then the other requested results, in the order of the options. */
const uniqueParts: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, options?: UniqueOptions) => readonly T[]
> = operator({
  name: 'unique',
  options: { at: 1, names: ['axis', 'returnIndex', 'returnInverse', 'returnCounts'] },
  family: 'dynamic',
  attributes,
  results: 'list',
  operands: 'keep',
  call: (x, options = {}) => ({
    inputs: [x],
    attributes: {
      axis: options.axis ?? null,
      index: options.returnIndex ?? false,
      inverse: options.returnInverse ?? false,
      counts: options.returnCounts ?? false,
    },
  }),
  infer: (context) => inferUnique(context),
  sizedBy: [0],
  measure: ({ inputs: [x], attributes: { axis } }) => [sum(grouped(x, axis).starts)],
  gradient: ({ inputs: [x], outputs, grads: [g], attributes: { axis, index } }) => {
    if (g === null) return [null];
    const first = index
      ? outputs[1]
      : firstOf(x, axis, outputs[0].type.shape[axisOf(x.type, axis)]);
    const { shape } = x.type;
    const along = { axis: axis ?? 0, mode: 'valid' } as const;
    return axis === null
      ? [reshape(takeAdjoint(g, first, [elementCount(shape)], along), shape)]
      : [takeAdjoint(g, first, shape, along)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], outputTypes, attributes: { axis, ...asked } }) => {
      const count = outputTypes[0].shape[axisOf(x.type, axis)];
      const { order, starts } = grouped(x, axis);
      const index = firstOf(x, axis, count);
      // Number of the value at each position of the order.
      const numbers = sub(cumsum(starts, 0), 1);
      const values = take(axis === null ? flatten(x) : x, index, {
        axis: axis ?? 0,
        mode: 'valid',
      });
      const results = [values];
      if (asked.index) results.push(index);
      if (asked.inverse) {
        const inverse = scatter(zerosLike(order), order, numbers, 0);
        results.push(axis === null ? reshape(inverse, x.type.shape) : inverse);
      }
      if (asked.counts) {
        const ones = onesLike(numbers);
        results.push(takeAdjoint(ones, numbers, [count], { axis: 0, mode: 'valid' }));
      }
      return results;
    },
  },
  onnx: (call) => writeUnique(call),
  samples: [
    { args: [tensor(['n', 'm'])] },
    {
      args: [
        tensor(['n', 2], { dtype: 'int32', low: -2, high: 2 }),
        { returnIndex: true, returnInverse: true, returnCounts: true },
      ],
    },
    { args: [tensor([3, 'n'], { dtype: 'bool' }), { axis: 1, returnInverse: true }] },
    { args: [tensor(['n', 3]), { axis: 0, returnIndex: true }] },
    // Equal values: perturbing one of them makes them two.
    {
      args: [tensor([7], { values: [2, NaN, -1, 2, NaN, 0, -0] }), { returnCounts: true }],
      differentiable: false,
    },
  ],
});

/**
 * The distinct values of `x`, sorted: flattened, or the sub-arrays along `axis` in lexicographic order. NaNs
 * are equal and sort last. With `returnIndex`, `returnInverse` or `returnCounts` the result is a record `{
 * values, index, inverse, counts }` of the requested results: int64 arrays, `index` and `counts` with one
 * element for each value, `inverse` of the shape of `x`, or with an axis of its length. Any dtype.
 *
 * The gradient of a value goes to its first occurrence.
 */
export const unique: Unique = Object.assign(
  (x: Input<Tensor>, options: UniqueOptions = {}): unknown => {
    const results = uniqueParts(x as Tensor, options);
    const { returnIndex = false, returnInverse = false, returnCounts = false } = options;
    const names = [
      ...(returnIndex ? ['index'] : []),
      ...(returnInverse ? ['inverse'] : []),
      ...(returnCounts ? ['counts'] : []),
    ];
    if (names.length === 0) return results[0];
    return Object.fromEntries(['values', ...names].map((name, k) => [name, results[k]]));
  },
  { declaration: uniqueParts.declaration },
) as Unique;

function writeUnique({
  onnx,
  inputs: [x],
  inputTypes: [{ dtype, shape }],
  attributes: { axis, ...asked },
}: OnnxCall<UniqueAttributes>): readonly OnnxValue[] {
  const at = axisOf({ dtype, shape }, axis);
  const rest = shape.filter((_, k) => k !== at);
  const front = [at, ...shape.flatMap((_, k) => (k === at ? [] : [k]))];
  const rows: Shape = axis === null ? [elementCount(shape), 1] : [shape[at], elementCount(rest)];
  const ordered = axis === null ? x : onnx.transpose(x, front);
  const found = writeDistinctRows(onnx, onnx.reshape(ordered, rows), { dtype, shape: rows });
  const elements = axis === null ? onnx.reshape(x, [rows[0]]) : x;
  const inverse = axis === null ? onnx.reshape(found.inverse, shape) : found.inverse;
  return [
    onnx.node('Gather', [elements, found.index], { axis: at }),
    ...(asked.index ? [found.index] : []),
    ...(asked.inverse ? [inverse] : []),
    ...(asked.counts ? [found.counts] : []),
  ];
}

/** Axis of the distinct values in the result. */
function axisOf({ shape }: TensorType, axis: number | null): number {
  return axis === null ? 0 : normalizeAxis('unique', axis, shape.length);
}

function inferUnique({
  inputs: [x],
  attributes: { axis, index, inverse, counts },
  fresh,
}: InferContext & { readonly attributes: UniqueAttributes }): readonly TensorType[] {
  const at = axisOf(x, axis);
  const length: Dim = axis === null ? elementCount(x.shape) : x.shape[at];
  const { min, max } = boundsOf(length);
  const count = fresh('count', { min: Math.min(Math.max(min, 0), 1), max, most: length });
  const type = (shape: Shape): TensorType => ({ dtype: 'int64', shape });
  return [
    { dtype: x.dtype, shape: axis === null ? [count] : x.shape.with(at, count) },
    ...(index ? [type([count])] : []),
    ...(inverse ? [type(axis === null ? x.shape : [length])] : []),
    ...(counts ? [type([count])] : []),
  ];
}

/** The sorting order, and the mask of positions where another value begins. */
function grouped<T extends Tensor>(
  x: T,
  axis: number | null,
): { readonly order: T; readonly starts: T } {
  const rows = rowsOf(x, axis);
  const order = rows.type.shape.length === 1 ? argsort(rows, 0) : argsortRows(rows);
  return { order, starts: runStarts(rows, order) };
}

/** The compared elements or sub-arrays, along the first of one or two axes. */
function rowsOf<T extends Tensor>(x: T, axis: number | null): T {
  if (axis === null) return flatten(x);
  if (x.type.shape.length === 1) return x;
  const front = moveaxis(x, axis, 0);
  const [length, ...rest] = front.type.shape;
  return reshape(front, [length, elementCount(rest)]);
}

/** Index of the first occurrence of each value: the order is stable. */
function firstOf<T extends Tensor>(x: T, axis: number | null, count: Dim): T {
  const { order, starts } = grouped(x, axis);
  return take(order, countedPositions(starts, count), { axis: 0, mode: 'valid' });
}
