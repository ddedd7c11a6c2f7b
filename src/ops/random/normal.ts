import * as attr from '../../base/attributes/attribute.js';
import type { DType } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
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
import { computeScalar } from '../declare/lowering.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { normalQuantile } from './quantile.js';
import {
  checkFloat,
  checkHolds,
  randomLowering,
  inferRandom,
  sampleState,
  withState,
} from './state.js';
import type { WordPair } from './threefry.js';

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

const bell = { shape: attr.dims, mean: attr.number, std: attr.number, dtype: attr.dtype };

/**
 * @internal Normally distributed numbers, by inverting the distribution function at a random probability (Wichura
 * 1988): of 32 bits for float32 and narrower, whose tails end at 6.3 standard deviations; of 53 for float64
 * (8.2).
 */
export const randomNormal: OperatorFunction<RandomNormal> = operator({
  name: 'randomNormal',
  options: { at: 2, names: ['mean', 'std', 'dtype'] },
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
  infer: (context) => {
    const { shape, mean, std, dtype } = context.attributes;
    checkFloat('randomNormal', dtype);
    if (!(std >= 0 && Number.isFinite(mean + std))) {
      throw new ArgumentError('there is no such normal distribution', {
        op: 'randomNormal',
        expected: 'a finite mean and a finite std of at least 0',
        actual: `mean ${mean}, std ${std}`,
      });
    }
    checkHolds('randomNormal', dtype, { mean, std });
    return inferRandom('randomNormal', dtype, shape, context);
  },
  gradient: 'none',
  lowering: randomLowering<AttributesOf<typeof bell>>((words, { mean, std }, dtype) =>
    e.add(e.mul(standardNormal(words, dtype), std), mean),
  ),
  samples: [
    { args: [sampleState, [3, 5]] },
    { args: [sampleState, [4], { mean: -2, std: 3, dtype: 'float64' }] },
    { args: [sampleState, [4], { dtype: 'bfloat16' }] },
  ],
});

/** One bit is the sign; the others, plus a half so that it is never 0, the probability of its tail. */
function standardNormal([first, second]: WordPair, dtype: DType): Expr {
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
