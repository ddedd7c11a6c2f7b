import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { atLeast, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import { zerosLike } from '../movement/fill.js';
import { reshape } from '../movement/reshape.js';
import { slice } from '../movement/slice.js';
import { gather, scatterAdd } from './gather.js';
import { rankNest } from './order.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';

export interface SortOptions {
  /** Greatest first. Default false. */
  readonly descending?: boolean;
}

/** `f(x, axis = -1, { descending })`. */
export type Sort = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: number,
  options?: SortOptions,
) => T;

const attributes = { axis: attr.int, descending: attr.bool };

const samples: readonly Sample[] = [
  { args: [tensor(['n', 'm'])] },
  { args: [tensor(['n', 2, 'm']), 0, { descending: true }] },
  { args: [tensor(['n', 9], { dtype: 'int32', low: -3, high: 3 })] },
  { args: [tensor([7], { values: [2, NaN, -1, Infinity, NaN, 0, -2] })], differentiable: false }, // NaN
];

/** The indices that sort `x` along an axis, the last one by default, int64. Stable. See `sort`. */
export const argsort: OperatorFunction<Sort> = operator({
  name: 'argsort',
  options: { at: 2, names: ['descending'] },
  family: 'indexing',
  attributes,
  operands: 'keep',
  call: (x, axis = -1, options) => ({
    inputs: [x],
    attributes: { axis, descending: options?.descending ?? false },
  }),
  infer: ({ inputs: [x], attributes: { axis } }) => {
    normalizeAxis('argsort', axis, x.shape.length);
    return [{ dtype: 'int64', shape: x.shape }];
  },
  positions: ([{ shape }], { axis }) => [shape[normalizeAxis('argsort', axis, shape.length)]],
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: rankNest },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes: { axis, descending } }) => {
    const at = normalizeAxis('argsort', axis, shape.length);
    return firstInOrder(onnx, x, shape, at, shape[at], descending);
  },
  samples,
});

/** The first indices of the order along an axis. TopK in ONNX is stable. */
function firstInOrder(
  onnx: OnnxWriter,
  x: OnnxValue,
  shape: Shape,
  axis: number,
  count: Dim,
  descending: boolean,
): OnnxValue {
  const ordered = (values: OnnxValue, length: Dim): OnnxValue =>
    onnx.nodes(
      'TopK',
      [values, onnx.sizes([length])],
      { axis, largest: Number(descending), sorted: 1 },
      [null, 'int64'],
    )[1];
  if (x.dtype === 'uint32' || x.dtype === 'uint64' || !isFloat(x.dtype)) return ordered(x, count);
  // ONNX does not order NaN. It is replaced by infinity, and then moved after the infinities.
  const isNaN = onnx.node('IsNaN', [x], {}, 'bool');
  const number = onnx.node('Where', [isNaN, onnx.scalar(x.dtype, Infinity), x]);
  const first = ordered(number, shape[axis]);
  const keys = onnx.node('GatherElements', [onnx.cast(isNaN, 'int32'), first], { axis });
  const second = ordered(keys, count);
  return onnx.node('GatherElements', [first, second], { axis });
}

/**
 * `x` sorted along an axis, the last one by default; stable. NaN counts as the greatest value: it comes last,
 * or first in descending order.
 */
export const sort: OperatorFunction<Sort> = operator({
  name: 'sort',
  options: { at: 2, names: ['descending'] },
  family: 'indexing',
  attributes,
  operands: 'keep',
  call: (x, axis = -1, options) => ({
    inputs: [x],
    attributes: { axis, descending: options?.descending ?? false },
  }),
  infer: ({ inputs: [x], attributes: { axis } }) => {
    normalizeAxis('sort', axis, x.shape.length);
    return [x];
  },
  // The indices are recomputed; in one program with the lowering's they are one expression.
  gradient: ({ inputs: [x], grads: [g], attributes: { axis, descending } }) => [
    scatterAdd(zerosLike(x), argsort(x, axis, { descending }), g!, axis),
  ],
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axis, descending } }) => [
      gather(x, argsort(x, axis, { descending }), axis),
    ],
  },
  samples,
});

/** Limit of k up to which selection beats sorting, also in its worst case. */
const selectionLimit = 64;

/** @internal The first `k` elements of `argsort`, found without sorting the rest; `k` is 1 to `selectionLimit`. */
export const argselect: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    k: number,
    axis?: number,
    options?: SortOptions,
  ) => T
> = operator({
  name: 'argselect',
  options: { at: 3, names: ['descending'] },
  family: 'indexing',
  attributes: { k: attr.int, ...attributes },
  method: false,
  operands: 'keep',
  call: (x, k, axis = -1, options) => ({
    inputs: [x],
    attributes: { k, axis, descending: options?.descending ?? false },
  }),
  infer: ({ inputs: [x], attributes: { k, axis }, require }) => {
    const at = normalizeAxis('argselect', axis, x.shape.length);
    if (k < 1 || k > selectionLimit) {
      throw new ArgumentError('a selection is of a few elements', {
        op: 'argselect',
        expected: `k from 1 to ${selectionLimit}`,
        actual: String(k),
        advice: 'use argsort',
      });
    }
    requireElements('argselect', x.shape, at, k, require);
    return [{ dtype: 'int64', shape: x.shape.with(at, k) }];
  },
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: rankNest },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes: { k, axis, descending } }) =>
    firstInOrder(onnx, x, shape, normalizeAxis('argselect', axis, shape.length), k, descending),
  samples: [
    { args: [tensor(['n', 'm']), 3], least: { m: 3 } },
    { args: [tensor(['n', 9], { dtype: 'int8', low: -3, high: 3 }), 5, 1, { descending: true }] },
    { args: [tensor(['n', 2]), 2, 0], least: { n: 2 } },
  ],
});

function requireElements(
  op: string,
  shape: Shape,
  axis: number,
  k: number,
  require: Require,
): void {
  require(atLeast(shape[axis], k), () => ({
    op,
    problem: words`axis ${axis} does not have ${k} elements`,
    expected: words`at least ${k} elements on axis ${axis}`,
    actual: words`${shape}`,
  }));
}

export interface TopKOptions {
  /** False for the least elements. Default true. */
  readonly largest?: boolean;
}

/**
 * The `k` greatest elements along an axis, the last one by default, greatest first, and their indices
 * (int64); stable. With `largest: false` the least. NaN counts as greatest.
 */
export const topK: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    k: number,
    axis?: number,
    options?: TopKOptions,
  ) => { readonly values: T; readonly indices: T }
> = operator({
  name: 'topK',
  options: { at: 3, names: ['largest'] },
  family: 'indexing',
  attributes: { k: attr.int, axis: attr.int, largest: attr.bool },
  results: ['values', 'indices'],
  operands: 'keep',
  call: (x, k, axis = -1, options) => ({
    inputs: [x],
    attributes: { k, axis, largest: options?.largest ?? true },
  }),
  infer: ({ inputs: [x], attributes: { k, axis }, require }) => {
    const at = normalizeAxis('topK', axis, x.shape.length);
    if (k < 0) {
      throw new ArgumentError('a negative number of elements was asked for', {
        op: 'topK',
        expected: 'k of 0 or more',
        actual: String(k),
      });
    }
    requireElements('topK', x.shape, at, k, require);
    const shape = x.shape.with(at, k);
    return [
      { dtype: x.dtype, shape },
      { dtype: 'int64', shape },
    ];
  },
  positions: ([{ shape }], { axis }) => [null, shape[normalizeAxis('topK', axis, shape.length)]],
  gradient: ({ inputs: [x], outputs: [, indices], grads: [g], attributes: { axis } }) => [
    g === null ? null : scatterAdd(zerosLike(x), indices, g, axis),
  ],
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { k, axis, largest } }) => {
      const at = normalizeAxis('topK', axis, x.type.shape.length);
      const options = { descending: largest };
      const before = Array.from({ length: at }, () => ':' as const);
      const indices =
        k >= 1 && k <= selectionLimit
          ? argselect(x, k, at, options)
          : reshape(slice(argsort(x, at, options), ...before, [0, k]), x.type.shape.with(at, k));
      return [gather(x, indices, at), indices];
    },
  },
  samples: [
    { args: [tensor(['n', 5]), 3] },
    { args: [tensor(['n', 2, 'm']), 2, 0, { largest: false }], least: { n: 2 } },
    { args: [tensor(['n'], { dtype: 'int64', low: -3, high: 3 }), 0] },
  ],
});
