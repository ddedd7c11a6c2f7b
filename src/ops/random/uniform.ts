import * as attr from '../../base/attributes/attribute.js';
import type { DType } from '../../base/dtype.js';
import { exactBits } from '../../base/numbers.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import {
  checkFloat,
  checkHolds,
  checkSpan,
  randomLowering,
  inferRandom,
  sampleState,
  withState,
} from './state.js';
import type { WordPair } from './threefry.js';

const span = { shape: attr.dims, low: attr.number, high: attr.number, dtype: attr.dtype };
type Span = AttributesOf<typeof span>;

export interface UniformOptions {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Exclusive upper bound. Default 1. */
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
 * @internal Numbers distributed uniformly over [low, high): multiples of 2^-p of the span, with as many bits p as the
 * dtype has (24 for float32, 53 for float64), shifted to `low`. `high` itself is never drawn.
 */
export const randomUniform: OperatorFunction<RandomUniform> = operator({
  name: 'randomUniform',
  options: { at: 2, names: ['low', 'high', 'dtype'] },
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
  infer: (context) => {
    const { shape, low, high, dtype } = context.attributes;
    checkFloat('randomUniform', dtype);
    checkSpan('randomUniform', low, high, Number.isFinite(high - low) && low < high);
    checkHolds('randomUniform', dtype, { low, high, 'high - low': high - low });
    return inferRandom('randomUniform', dtype, shape, context);
  },
  gradient: 'none',
  lowering: randomLowering<Span>((words, { low, high }, dtype) => {
    const value = e.add(e.mul(fraction(words, dtype), high - low), low);
    return e.max(e.min(value, justBelow(high, exactBits(dtype))), low);
  }),
  samples: [
    { args: [sampleState, [3, 5]] },
    { args: [sampleState, [4], { low: -2, high: 5, dtype: 'float64' }] },
    { args: [sampleState, [4], { dtype: 'float16' }] },
  ],
});

/** A multiple of 2^-p in [0, 1), exact. */
function fraction([first, second]: WordPair, dtype: DType): Expr {
  const bits = exactBits(dtype);
  if (bits <= 32) return e.mul(e.cast('f32', e.shrU(first, 32 - bits)), 2 ** -bits);
  const high = e.cast('f64', e.shrU(first, 5));
  const low = e.cast('f64', e.shrU(second, 6));
  return e.mul(e.add(e.mul(high, 2 ** 26), low), 2 ** -53);
}

/** The greatest number of a precision below `x`: an upper bound that rounding must not exceed. */
function justBelow(x: number, bits: number): number {
  if (x === 0) return -(2 ** -1000);
  let exponent = Math.floor(Math.log2(Math.abs(x)));
  if (2 ** exponent > Math.abs(x)) exponent--;
  else if (2 ** (exponent + 1) <= Math.abs(x)) exponent++;
  // Below a power of two numbers lie twice as dense.
  const ulp = 2 ** (exponent - bits + (x === 2 ** exponent ? 0 : 1));
  return (Math.ceil(x / ulp) - 1) * ulp;
}
