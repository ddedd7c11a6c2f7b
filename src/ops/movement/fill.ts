import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { nearestElement } from '../../base/element.js';
import type { InferContext } from '../../ir/operator.js';
import type { Value } from '../../ir/program.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Const } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { useForSizes } from '../declare/convert.js';
import { checkShape } from '../declare/infer.js';
import { example, type LawCall } from '../declare/law.js';
import { computeScalar } from '../declare/lowering.js';
import { indexConstant } from '../loops.js';
import { roundedToOdd } from '../rounding.js';
import { type ShapeArgument, shapeList } from '../signatures.js';

/*
 * Arrays that are made of nothing but their shape, which may be symbolic. In a program they are appended
 * by declaration, since no operand says which program is meant; the `-Like` ones take it from `x`.
 */

/** Converts a number to a dtype: integers truncate, bool is `!= 0`. */
export function elementOf(dtype: DType, value: number): Const {
  const scalar = computeScalar(dtype);
  if (scalar !== 'i32' && scalar !== 'i64') return e.constant(scalar, nearestElement(dtype, value));
  return e.constant(scalar, Number.isFinite(value) ? Math.trunc(value) : 0);
}

/** @internal An array of a shape with `value` everywhere. The default dtype is float32. */
export const fill: OperatorFunction<
  <T extends Tensor = DefaultTensor>(shape: ShapeArgument, value: number, dtype?: DType) => T
> = operator({
  name: 'fill',
  family: 'movement',
  attributes: { shape: attr.dims, value: attr.number, dtype: attr.dtype },
  method: false,
  call: (shape, value, dtype = 'float32') => ({
    inputs: [],
    attributes: { shape: shapeList(shape), value, dtype },
  }),
  infer: ({ attributes: { shape, dtype }, require }) => {
    checkShape('fill', shape, require);
    return [{ dtype, shape }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ attributes: { dtype, value } }) => elementOf(dtype, value),
  },
  samples: [{ args: [[2, 0, 3], 7] }, { args: [[3], -2, 'int64'] }, { args: [[], 2, 'bool'] }],
});

export interface ProgressionOptions {
  /** The first element. Default 0. */
  readonly start?: number;
  /** Difference of neighboring elements. Default 1. */
  readonly step?: number;
  /** Default float32. */
  readonly dtype?: DType;
}

/**
 * @internal `start, start + step, start + 2 * step, ...`, `length` elements. Each is computed from its index, in double
 * precision for floats, so errors do not accumulate.
 */
export const iota: OperatorFunction<
  <T extends Tensor = DefaultTensor>(length: Dim, options?: ProgressionOptions) => T
> = operator({
  name: 'iota',
  options: { at: 1, names: ['start', 'step', 'dtype'] },
  family: 'movement',
  attributes: { length: attr.dim, start: attr.number, step: attr.number, dtype: attr.dtype },
  method: false,
  call: (length, options) => ({
    inputs: [],
    attributes: {
      length,
      start: options?.start ?? 0,
      step: options?.step ?? 1,
      dtype: options?.dtype ?? 'float32',
    },
  }),
  infer: ({ attributes: { length, dtype }, require }) => {
    checkShape('iota', [length], require);
    return [{ dtype, shape: [length] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ index: [i], attributes: { start, step, dtype } }) => {
      const scalar = computeScalar(dtype);
      const isWhole = !isFloat(dtype) && Number.isInteger(start) && Number.isInteger(step);
      const at = e.cast(isWhole && scalar === 'i64' ? 'i64' : isWhole ? 'i32' : 'f64', i);
      return roundedToOdd(dtype, e.add(e.mul(at, step), start));
    },
  },
  samples: [
    { args: [5] },
    { args: [0] },
    { args: [4, { start: 9, step: -3, dtype: 'int64' }] },
    { args: [3, { start: 0.5, step: 0.25, dtype: 'float64' }] },
  ],
});

export interface EyeOptions {
  /** The diagonal that holds the ones: above the main one if positive. Default 0. */
  readonly k?: number;
  /** Default float32. */
  readonly dtype?: DType;
}

/** A matrix of `rows` by `columns` (default: square) with ones on a diagonal and zeros elsewhere. */
export const eye: OperatorFunction<
  <T extends Tensor = DefaultTensor>(rows: Dim, columns?: Dim | null, options?: EyeOptions) => T
> = operator({
  name: 'eye',
  options: { at: 2, names: ['k', 'dtype'] },
  family: 'movement',
  attributes: { rows: attr.dim, columns: attr.dim, k: attr.int, dtype: attr.dtype },
  method: false,
  call: (rows, columns, options) => ({
    inputs: [],
    attributes: {
      rows,
      columns: columns ?? rows,
      k: options?.k ?? 0,
      dtype: options?.dtype ?? 'float32',
    },
  }),
  infer: ({ attributes: { rows, columns, dtype }, require }) => {
    checkShape('eye', [rows, columns], require);
    return [{ dtype, shape: [rows, columns] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ index: [row, column], attributes: { k, dtype } }) => {
      const isOnDiagonal = e.eq(e.sub(column, row), indexConstant(k));
      return e.select(isOnDiagonal, elementOf(dtype, 1), elementOf(dtype, 0));
    },
  },
  samples: [{ args: [3] }, { args: [2, 4, { k: 1, dtype: 'int32' }] }, { args: [0, 2] }],
});

export interface LikeOptions<D extends DType = DType, T extends Tensor = Tensor> {
  /** Default: that of `x`. */
  readonly dtype?: D;
  /** Default: that of `x`. */
  readonly shape?: ShapeArgument<T>;
}

/** An array like `x` with `value` everywhere; shape and dtype may be given instead. */
export const fullLike: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, value: number, options?: LikeOptions) => T
> = operator({
  name: 'fullLike',
  options: { at: 2, names: ['dtype', 'shape'] },
  family: 'movement',
  attributes: {
    value: attr.number,
    dtype: attr.optional(attr.dtype),
    shape: attr.optional(attr.dims),
  },
  method: false,
  operands: 'keep',
  call: (x, value, options) => ({
    inputs: [x],
    attributes: { value, ...likeAttributes(options) },
  }),
  infer: (context) => [typeLike('fullLike', context)],
  readsTypesOnly: true,
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ attributes: { value }, outputType }) => elementOf(outputType.dtype, value),
  },
  batch: {
    rows: ({ inputs: [x], outputTypes: [{ dtype, shape }], length, attributes: { value } }) => [
      fullLike(x, value, { dtype, shape: [length, ...shape] }),
    ],
  },
  simplify: [
    {
      name: 'static-shape',
      law: 'fullLike(x, v) = fill(shape(x), v) where the shape is static, so that x need not be computed',
      cases: [
        example([tensor([2, 3])], (x) => fullLike(x, 7)),
        example([tensor(['n'])], (x) => fullLike(x, 1, { shape: [4], dtype: 'int64' })),
      ],
      apply: ({ inputs, attributes: { value }, type }) => filled(inputs, value, type),
    },
  ],
  samples: [{ args: [tensor(['n', 2]), 7] }, { args: [tensor(['n']), 1, { dtype: 'int64' }] }],
});

type Like = <T extends Tensor = DefaultTensor>(x: Input<T>, options?: LikeOptions) => T;

/** An array like `x`, of zeros; shape and dtype may be given instead. */
export const zerosLike: OperatorFunction<Like> = constantLike('zerosLike', 0);

/** An array like `x`, of ones; shape and dtype may be given instead. */
export const onesLike: OperatorFunction<Like> = constantLike('onesLike', 1);

function constantLike(name: string, value: number): OperatorFunction<Like> {
  return operator({
    name,
    options: { at: 1, names: ['dtype', 'shape'] },
    family: 'movement',
    attributes: { dtype: attr.optional(attr.dtype), shape: attr.optional(attr.dims) },
    method: false,
    operands: 'keep',
    call: (x, options) => ({ inputs: [x], attributes: likeAttributes(options) }),
    infer: (context) => [typeLike(name, context)],
    readsTypesOnly: true,
    gradient: 'none',
    lowering: {
      kind: 'decompose',
      decompose: ({ inputs: [x], outputTypes: [type] }) => [fullLike(x, value, type)],
    },
    samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n']), { shape: [2, 0] }] }],
  });
}

/**
 * @internal The value of a dimension as a rank-0 array of the dtype of `x` (or of another): the divisor of a mean where
 * the extent is symbolic.
 */
export const dimLike: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, dim: Dim, options?: { dtype?: DType }) => T
> = operator({
  name: 'dimLike',
  options: { at: 2, names: ['dtype'] },
  family: 'movement',
  attributes: { dim: attr.dim, dtype: attr.optional(attr.dtype) },
  method: false,
  operands: 'keep',
  call: (x, dim, options) => ({
    inputs: [x],
    attributes: { dim, dtype: options?.dtype ?? null },
  }),
  infer: ({ inputs: [x], attributes: { dtype } }) => [{ dtype: dtype ?? x.dtype, shape: [] }],
  readsTypesOnly: true,
  size: ({ dim }) => dim,
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ attributes: { dim }, outputType: { dtype }, extent }) =>
      e.cast(computeScalar(dtype), extent(dim)),
  },
  simplify: [
    {
      name: 'static-dimension',
      law: 'dimLike(x, 3) = 3',
      cases: [example([tensor(['n'])], (x) => dimLike(x, 3, { dtype: 'int64' }))],
      apply: ({ inputs, attributes: { dim }, type }) =>
        isStatic(dim) ? filled(inputs, dim, type) : null,
    },
  ],
  samples: [{ args: [tensor(['n']), 3] }, { args: [tensor(['n']), 7, { dtype: 'int64' }] }],
});

useForSizes((size, dtype, like) => dimLike(like ?? fill<Tensor>([], 0, dtype), size, { dtype }));

/** A constant of a number, of a static shape. A symbolic shape may be known only through `x`. */
function filled([x]: LawCall['inputs'], value: number, { dtype, shape }: TensorType): Value | null {
  if (!shape.every(isStatic)) return null;
  return x.program.append(fill.declaration, [], { shape, value, dtype })[0];
}

interface LikeAttributes {
  readonly dtype: DType | null;
  readonly shape: Shape | null;
}

function likeAttributes(options: LikeOptions = {}): LikeAttributes {
  const { dtype = null, shape } = options;
  return { dtype, shape: shape === undefined ? null : shapeList(shape) };
}

function typeLike(
  op: string,
  {
    inputs: [x],
    attributes: { dtype, shape },
    require,
  }: InferContext & { readonly attributes: LikeAttributes },
): TensorType {
  checkShape(op, shape ?? [], require);
  return { dtype: dtype ?? x.dtype, shape: shape ?? x.shape };
}
