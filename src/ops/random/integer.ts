import * as attr from '../../base/attributes/attribute.js';
import type { DType } from '../../base/dtype.js';
import { ArgumentError, DTypeError } from '../../base/errors.js';
import { integerRange } from '../../base/numbers.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { computeScalar } from '../declare/lowering.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { checkSpan, randomLowering, inferRandom, sampleState, withState } from './state.js';

/** `randomBits(state, shape)`. */
export type RandomBits = <T extends Tensor = DefaultTensor>(
  state: Input<T>,
  shape: ShapeArgument,
) => T;

/** @internal 32 independent random bits for each element, as int32. */
export const randomBits: OperatorFunction<RandomBits> = operator({
  name: 'randomBits',
  family: 'random',
  attributes: { shape: attr.dims },
  method: false,
  operands: withState,
  call: (state, shape) => ({ inputs: [state], attributes: { shape: shapeList(shape) } }),
  infer: (context) => inferRandom('randomBits', 'int32', context.attributes.shape, context),
  gradient: 'none',
  lowering: randomLowering(([word]) => word),
  samples: [
    { args: [sampleState, [3, 5]] },
    { args: [sampleState, []] },
    { args: [sampleState, [0, 2]] },
  ],
});

export interface IntegerOptions {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Exclusive upper bound. */
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

const span = { shape: attr.dims, low: attr.int, high: attr.int, dtype: attr.dtype };

/** Range of the bounds, which are numbers; null for a dtype that is not an integer. */
function boundsRange(dtype: DType): readonly [number, number] | null {
  const range = integerRange(dtype);
  if (range === null) return null;
  return [
    Math.max(Number(range[0]), Number.MIN_SAFE_INTEGER),
    Math.min(Number(range[1] + 1n), Number.MAX_SAFE_INTEGER),
  ];
}

/**
 * @internal Integers distributed uniformly over low, ..., high - 1: 63 random bits modulo the count n, so that
 * probabilities differ by a factor of at most 1 + n / 2^63 (2^-32 off for the whole of int32).
 */
export const randomInteger: OperatorFunction<RandomInteger> = operator({
  name: 'randomInteger',
  options: { at: 2, names: ['low', 'high', 'dtype'] },
  family: 'random',
  attributes: span,
  method: false,
  operands: withState,
  call: (state, shape, { low = 0, high, dtype = 'int32' }) => ({
    inputs: [state],
    attributes: { shape: shapeList(shape), low, high, dtype },
  }),
  infer: (context) => {
    const { shape, low, high, dtype } = context.attributes;
    const range = boundsRange(dtype);
    if (range === null) {
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
    return inferRandom('randomInteger', dtype, shape, context);
  },
  gradient: 'none',
  lowering: randomLowering<AttributesOf<typeof span>>(([first, second], { low, high }, dtype) => {
    const unsigned = e.and(e.cast('i64', second), 0xffffffffn);
    const bits = e.or(e.shl(e.cast('i64', e.shrU(first, 1)), 32n), unsigned);
    const value = e.add(e.rem(bits, high - low), low);
    return e.cast(computeScalar(dtype), value);
  }),
  samples: [
    { args: [sampleState, [3, 5], { high: 10 }] },
    { args: [sampleState, [4], { low: -128, high: 128, dtype: 'int8' }] },
    { args: [sampleState, [4], { low: -5, high: 2 ** 40, dtype: 'int64' }] },
  ],
});
