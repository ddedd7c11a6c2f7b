import type { AttributesOf, AttributeSchema } from '../../base/schema.js';
import * as attr from '../../base/attribute.js';
import type { Dim } from '../../base/dim.js';
import { type DType, isFloat, kindOf } from '../../base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { checkShape, shapeToString } from '../infer.js';
import { computeScalar, type PointLowering } from '../lowering.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { normalQuantile } from './quantile.js';
import { randomWords, type Words } from './threefry.js';

/*
 * Random arrays. The state is an ordinary operand, an int64 array [seed, counter], so that graphs draw
 * fresh numbers on replay: whoever calls counts up. Equal states give equal numbers on every target.
 */

const state = tensor([2], { dtype: 'int64', values: [42, 7] });

const withState = (): readonly DType[] => ['int64'];

function inferRandom(
  op: string,
  dtype: DType,
  shape: readonly Dim[],
  [{ dtype: stateType, shape: stateShape }]: readonly TensorType[],
): readonly TensorType[] {
  checkShape(op, shape);
  if (stateType !== 'int64' || stateShape.length !== 1 || stateShape[0] !== 2) {
    throw new ShapeError('the random state is not a seed and a counter', {
      op,
      expected: 'int64[2]',
      actual: `${stateType}${shapeToString(stateShape)}`,
    });
  }
  return [{ dtype, shape }];
}

function fromWords<A>(
  value: (words: Words, attributes: A, dtype: DType) => Expr,
): PointLowering<A> {
  return {
    kind: 'point',
    elementwise: false,
    point: (context) => value(randomWords(context), context.attributes, context.outputType.dtype),
  };
}

/** `randomBits(state, shape)`. */
export type RandomBits = <T extends Tensor = DefaultTensor>(
  state: Input<T>,
  shape: ShapeArgument,
) => T;

/** 32 independent random bits an element, as int32. */
export const randomBits: OperatorFunction<RandomBits, false> = operator({
  name: 'randomBits',
  family: 'random',
  attributes: { shape: attr.dims },
  method: false,
  operands: withState,
  call: (state, shape) => ({ inputs: [state], attributes: { shape: shapeList(shape) } }),
  infer: ({ inputs, attributes: { shape } }) => inferRandom('randomBits', 'int32', shape, inputs),
  gradient: 'none',
  lowering: fromWords(([word]) => word),
  samples: [{ args: [state, [3, 5]] }, { args: [state, []] }, { args: [state, [0, 2]] }],
});

function checkFloat(op: string, dtype: DType): void {
  if (isFloat(dtype)) return;
  throw new DTypeError('draws fractions', {
    op,
    expected: 'a float dtype',
    actual: dtype,
    advice: 'draw integers with randomInteger',
  });
}

const span = { shape: attr.dims, low: attr.number, high: attr.number, dtype: attr.dtype } satisfies AttributeSchema; // prettier-ignore
type Span = AttributesOf<typeof span>;

function checkSpan(op: string, low: number, high: number, acceptable: boolean): void {
  if (acceptable) return;
  throw new ArgumentError('there is nothing between the bounds', {
    op,
    expected: 'finite bounds, low < high',
    actual: `low ${low}, high ${high}`,
  });
}

export interface UniformOptions {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Values stay below. Default 1. */
  readonly high?: number;
  /** A float dtype. Default float32. */
  readonly dtype?: DType;
}

/** `randomUniform(state, shape, { low, high, dtype })`. */
export type RandomUniform = <T extends Tensor = DefaultTensor>(
  state: Input<T>,
  shape: ShapeArgument,
  options?: UniformOptions,
) => T;

/**
 * Numbers spread evenly over [low, high): multiples of 2^-p of the span, with as many bits p as the dtype
 * has (24 for float32, 53 for float64), moved to `low`. `high` itself is never drawn.
 */
export const randomUniform: OperatorFunction<RandomUniform, false> = operator({
  name: 'randomUniform',
  family: 'random',
  attributes: span,
  method: false,
  operands: withState,
  call: (state, shape, options) => ({
    inputs: [state],
    attributes: {
      shape: shapeList(shape),
      low: options?.low ?? 0,
      high: options?.high ?? 1,
      dtype: options?.dtype ?? 'float32',
    },
  }),
  infer: ({ inputs, attributes: { shape, low, high, dtype } }) => {
    checkFloat('randomUniform', dtype);
    checkSpan('randomUniform', low, high, Number.isFinite(high - low) && low < high);
    return inferRandom('randomUniform', dtype, shape, inputs);
  },
  gradient: 'none',
  lowering: fromWords<Span>((words, { low, high }, dtype) => {
    const value = e.add(e.mul(fraction(words, dtype), high - low), low);
    return e.max(e.min(value, justBelow(high, precision[dtype])), low);
  }),
  samples: [
    { args: [state, [3, 5]] },
    { args: [state, [4], { low: -2, high: 5, dtype: 'float64' }] },
    { args: [state, [4], { dtype: 'float16' }] },
  ],
});

/** Bits of the significand, the hidden one too. */
const precision: Readonly<Record<DType, number>> = {
  bfloat16: 8, float16: 11, float32: 24, float64: 53, bool: 0, uint8: 0, int8: 0, int32: 0, int64: 0,
}; // prettier-ignore

/** A multiple of 2^-p in [0, 1), exact. */
function fraction([first, second]: Words, dtype: DType): Expr {
  const bits = precision[dtype];
  if (bits <= 32) return e.mul(e.cast('f32', e.shrU(first, 32 - bits)), 2 ** -bits);
  const high = e.cast('f64', e.shrU(first, 5));
  const low = e.cast('f64', e.shrU(second, 6));
  return e.mul(e.add(e.mul(high, 2 ** 26), low), 2 ** -53);
}

/** The greatest number of a precision below `x`: what rounding must not pass. */
function justBelow(x: number, bits: number): number {
  if (x === 0) return -(2 ** -1000);
  let exponent = Math.floor(Math.log2(Math.abs(x)));
  if (2 ** exponent > Math.abs(x)) exponent--;
  else if (2 ** (exponent + 1) <= Math.abs(x)) exponent++;
  // Below a power of two numbers lie twice as dense.
  const ulp = 2 ** (exponent - bits + (x === 2 ** exponent ? 0 : 1));
  return (Math.ceil(x / ulp) - 1) * ulp;
}

export interface NormalOptions {
  /** Default 0. */
  readonly mean?: number;
  /** The standard deviation, at least 0. Default 1. */
  readonly std?: number;
  /** A float dtype. Default float32. */
  readonly dtype?: DType;
}

/** `randomNormal(state, shape, { mean, std, dtype })`. */
export type RandomNormal = <T extends Tensor = DefaultTensor>(
  state: Input<T>,
  shape: ShapeArgument,
  options?: NormalOptions,
) => T;

const bell = { shape: attr.dims, mean: attr.number, std: attr.number, dtype: attr.dtype } satisfies AttributeSchema; // prettier-ignore

/**
 * Normally distributed numbers, by inverting the distribution at a random probability (Wichura 1988): of
 * 32 bits for float32 and narrower, whose tails end at 6.3 standard deviations; of 53 for float64 (8.2).
 */
export const randomNormal: OperatorFunction<RandomNormal, false> = operator({
  name: 'randomNormal',
  family: 'random',
  attributes: bell,
  method: false,
  operands: withState,
  call: (state, shape, options) => ({
    inputs: [state],
    attributes: {
      shape: shapeList(shape),
      mean: options?.mean ?? 0,
      std: options?.std ?? 1,
      dtype: options?.dtype ?? 'float32',
    },
  }),
  infer: ({ inputs, attributes: { shape, mean, std, dtype } }) => {
    checkFloat('randomNormal', dtype);
    if (!(std >= 0 && Number.isFinite(mean + std))) {
      throw new ArgumentError('there is no such normal distribution', {
        op: 'randomNormal',
        expected: 'a finite mean and a finite std of at least 0',
        actual: `mean ${mean}, std ${std}`,
      });
    }
    return inferRandom('randomNormal', dtype, shape, inputs);
  },
  gradient: 'none',
  lowering: fromWords<AttributesOf<typeof bell>>((words, { mean, std }, dtype) =>
    e.add(e.mul(standardNormal(words, dtype), std), mean),
  ),
  samples: [
    { args: [state, [3, 5]] },
    { args: [state, [4], { mean: -2, std: 3, dtype: 'float64' }] },
    { args: [state, [4], { dtype: 'bfloat16' }] },
  ],
});

/** One bit is the sign; the others, and a half so that it is never 0, the probability of its tail. */
function standardNormal([first, second]: Words, dtype: DType): Expr {
  const scalar = computeScalar(dtype);
  const rest = e.cast(scalar, e.and(first, 0x7fffffff));
  const probability =
    scalar === 'f32'
      ? e.mul(e.add(rest, 0.5), 2 ** -32)
      : e.mul(
          e.add(e.add(e.mul(rest, 2 ** 21), e.cast(scalar, e.shrU(second, 11))), 0.5),
          2 ** -53,
        );
  const magnitude = normalQuantile(probability);
  return e.select(e.lt(first, 0), magnitude, e.neg(magnitude));
}

export interface IntegerOptions {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Values stay below. */
  readonly high: number;
  /** An integer dtype. Default int32. */
  readonly dtype?: DType;
}

/** `randomInteger(state, shape, { low, high, dtype })`. */
export type RandomInteger = <T extends Tensor = DefaultTensor>(
  state: Input<T>,
  shape: ShapeArgument,
  options: IntegerOptions,
) => T;

const integerRanges: Partial<Record<DType, readonly [number, number]>> = {
  uint8: [0, 2 ** 8],
  int8: [-(2 ** 7), 2 ** 7],
  int32: [-(2 ** 31), 2 ** 31],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

/**
 * Integers spread evenly over low, ..., high - 1: 63 random bits modulo the count n, so that probabilities
 * differ by a factor of at most 1 + n / 2^63 (2^-32 off for the whole of int32).
 */
export const randomInteger: OperatorFunction<RandomInteger, false> = operator({
  name: 'randomInteger',
  family: 'random',
  attributes: { ...span, low: attr.int, high: attr.int },
  method: false,
  operands: withState,
  call: (state, shape, { low = 0, high, dtype = 'int32' }) => ({
    inputs: [state],
    attributes: { shape: shapeList(shape), low, high, dtype },
  }),
  infer: ({ inputs, attributes: { shape, low, high, dtype } }) => {
    const range = integerRanges[dtype];
    if (range === undefined || kindOf(dtype) !== 'int') {
      throw new DTypeError('draws integers', {
        op: 'randomInteger',
        expected: 'an integer dtype',
        actual: dtype,
      });
    }
    checkSpan('randomInteger', low, high, low < high);
    if (low < range[0] || high > range[1]) {
      throw new ArgumentError(`the bounds lie outside ${dtype}`, {
        op: 'randomInteger',
        expected: `${range[0]} <= low < high <= ${range[1]}`,
        actual: `low ${low}, high ${high}`,
      });
    }
    return inferRandom('randomInteger', dtype, shape, inputs);
  },
  gradient: 'none',
  lowering: fromWords<Span>(([first, second], { low, high }, dtype) => {
    const unsigned = e.and(e.cast('i64', second), 0xffffffffn);
    const bits = e.or(e.shl(e.cast('i64', e.shrU(first, 1)), 32n), unsigned);
    const value = e.add(e.rem(bits, high - low), low);
    return e.cast(computeScalar(dtype), value);
  }),
  samples: [
    { args: [state, [3, 5], { high: 10 }] },
    { args: [state, [4], { low: -128, high: 128, dtype: 'int8' }] },
    { args: [state, [4], { low: -5, high: 2 ** 40, dtype: 'int64' }] },
  ],
});
