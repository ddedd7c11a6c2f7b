import { besideOther, onDefaultDevice } from '../devices/placing.js';
import { describe } from '../../base/attributes/attribute.js';
import {
  checkArgument,
  checkOptions,
  eitherRule,
  finite,
  fraction,
  integer,
  integerFrom,
  nonNegative,
  valueRule,
} from '../../base/attributes/options.js';
import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import { isFloat } from '../../base/dtype.js';
import { ArgumentError, ShapeError, TraceError } from '../../base/errors.js';
import {
  argmax,
  argsort,
  less,
  neg,
  log,
  randomInteger,
  randomNormal,
  randomUniform,
} from '../../ops/index.js';
import { shapeList } from '../../ops/signatures.js';
import type { HostValue } from '../../ir/host.js';
import { currentTrace } from '../core/capture.js';
import { array } from './creation.js';
import {
  type GeneratorState,
  generatorState,
  refuseAwaited,
  setGeneratorState,
  takeState,
  untakeState,
} from '../dispatch/generator.js';
import { NDArray } from '../core/ndarray.js';
import { extentsOf } from '../dispatch/traced-shape.js';

/*
 * Random arrays. There is one generator; a call takes its state and moves it on by one, so equal seeds
 * and equal calls give equal numbers, run eagerly or captured, on every tier.
 */

export type { GeneratorState };

/** A shape: extents, which may be symbolic, or one extent for rank 1; none for a scalar. */
export type RandomShape = Dim | readonly Dim[];

/**
 * Starts the generator anew. Equal seeds give equal numbers, and others give others: a seed has 64 bits.
 * @throws ArgumentError for what is no integer, and for integers that 64 bits do not hold.
 */
export function seed(value: number | bigint): void {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    throw new ArgumentError('a seed is an integer', {
      op: 'random.seed',
      expected: 'a safe integer or a bigint',
      actual: describe(value),
    });
  }
  const whole = BigInt(value);
  if (whole < -(2n ** 63n) || whole >= 2n ** 63n) {
    throw new ArgumentError('the seed is too large', {
      op: 'random.seed',
      expected: 'an integer from -2^63 to 2^63 - 1',
      actual: describe(value),
      advice: 'take the lowest bits yourself: BigInt.asIntN(64, seed)',
    });
  }
  setState({ seed: whole, counter: 0n });
}

/** The state, from which `setState` goes on. */
export function getState(): GeneratorState {
  return generatorState();
}

/**
 * Puts the generator back to where `getState` was called.
 * @throws ArgumentError for what is no state; TraceError inside of captured code.
 */
export function setState(state: GeneratorState): void {
  if (typeof state?.seed !== 'bigint' || typeof state.counter !== 'bigint') {
    throw new ArgumentError('this is not a state of the generator', {
      op: 'random.setState',
      expected: 'what getState returned: { seed, counter }, both bigints',
      actual: describe(state),
    });
  }
  for (const [name, value] of Object.entries({ seed: state.seed, counter: state.counter })) {
    if (value >= -(2n ** 63n) && value < 2n ** 63n) continue;
    throw new ArgumentError(`the ${name} of this state is too large`, {
      op: 'random.setState',
      expected: 'an integer from -2^63 to 2^63 - 1',
      actual: describe(value),
    });
  }
  if (currentTrace() !== null) {
    throw new TraceError('the random generator was set while tracing', {
      op: 'random.seed',
      expected: 'a call outside of captured code',
      actual: 'a call inside of it',
      advice: 'seed outside of the captured function: each call then goes on from there',
    });
  }
  setGeneratorState(state);
}

/** Draws once. A call that is refused leaves the generator where it was. */
function draw(make: (state: NDArray) => NDArray, dtype: DType = 'float32'): NDArray {
  // Numbers for others are not drawn from a state that only a device knows.
  refuseAwaited(dtype);
  const state = takeState();
  try {
    return onDefaultDevice(make(state));
  } catch (error) {
    untakeState();
    throw error;
  }
}

export interface FloatOptions<D extends DType = DType> {
  /** A float dtype. Default float32. */
  readonly dtype?: D;
}

export interface NormalOptions<D extends DType = DType> extends FloatOptions<D> {
  /** Default 0. */
  readonly mean?: number;
  /** The standard deviation, at least 0. Default 1. */
  readonly std?: number;
}

export interface UniformOptions<D extends DType = DType> extends FloatOptions<D> {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Values stay below. Default 1. */
  readonly high?: number;
}

/** Dtypes have an error of their own. */
const anyDType = valueRule('a dtype', (value): value is DType => value !== undefined);

/** Numbers from the normal distribution. */
export function normal<D extends DType = 'float32'>(
  shape: RandomShape = [],
  options: NormalOptions<D> = {},
): NDArray<D> {
  checkOptions<NormalOptions>('random.normal', options, {
    dtype: anyDType,
    mean: finite,
    std: nonNegative,
  });
  return draw((state) => randomNormal(state, shape, options), options.dtype);
}

/** Numbers spread evenly over `low` (0 unless given) to `high` (1), which itself is never drawn. */
export function uniform<D extends DType = 'float32'>(
  shape: RandomShape = [],
  options: UniformOptions<D> = {},
): NDArray<D> {
  checkOptions<UniformOptions>('random.uniform', options, {
    dtype: anyDType,
    low: finite,
    high: finite,
  });
  return draw((state) => randomUniform(state, shape, options), options.dtype);
}

export interface IntegerOptions<D extends DType = DType> {
  /** The least value. Default 0. */
  readonly low?: number;
  /** Values stay below. */
  readonly high: number;
  /** An integer dtype. Default int32. */
  readonly dtype?: D;
}

/** Integers from `low` up to but not including `high`: `randint(0, 6, [4])` or `randint([4], { high: 6 })`. */
export function randint<D extends DType = 'int32'>(
  low: number,
  high: number,
  shape?: RandomShape,
  options?: { readonly dtype?: D },
): NDArray<D>;
export function randint<D extends DType = 'int32'>(
  shape: readonly Dim[],
  options: IntegerOptions<D>,
): NDArray<D>;
export function randint(
  first: number | readonly Dim[],
  second: number | IntegerOptions,
  shape: RandomShape = [],
  options: { readonly dtype?: DType } = {},
): NDArray {
  if (typeof first === 'number' && typeof second === 'number') {
    checkOptions<{ readonly dtype?: DType }>('random.randint', options, { dtype: anyDType });
    return draw((state) => randomInteger(state, shape, { low: first, high: second, ...options }));
  }
  if (typeof first === 'number' || typeof second === 'number') {
    throw new ArgumentError('the bounds are missing', {
      op: 'random.randint',
      expected: 'randint(low, high, shape) or randint(shape, { low, high })',
      actual: `${describe(first)}, ${describe(second)}`,
    });
  }
  checkOptions<IntegerOptions>('random.randint', second, {
    low: integer,
    high: integer,
    dtype: anyDType,
  });
  checkArgument('random.randint', 'high', second.high, integer);
  return draw((state) => randomInteger(state, first, second));
}

/** True (or 1) with probability `p`, one half unless given. */
export function bernoulli<D extends DType = 'bool'>(
  shape: RandomShape = [],
  options: { readonly p?: number; readonly dtype?: D } = {},
): NDArray<D> {
  checkOptions<{ readonly p?: number; readonly dtype?: DType }>('random.bernoulli', options, {
    p: fraction,
    dtype: anyDType,
  });
  const { p = 0.5 } = options;
  const dtype: DType = options.dtype ?? 'bool';
  return draw((state) => less(randomUniform(state, shape), p).astype(dtype));
}

/**
 * Draws from categories, one for each row of `logits` (unnormalized log-probabilities along the last
 * axis), as int64: the Gumbel-max method.
 */
export function categorical(
  logits: NDArray | HostValue,
  options: { readonly shape?: RandomShape } = {},
): NDArray<'int64'> {
  checkOptions<{ readonly shape?: RandomShape }>('random.categorical', options, {
    shape: valueRule('a shape', (value): value is RandomShape => value !== undefined),
  });
  const scores = logits instanceof NDArray ? logits : array(logits);
  if (scores.ndim === 0) {
    throw new ShapeError('there are no categories', {
      op: 'random.categorical',
      expected: 'at least one axis',
      actual: '[]',
    });
  }
  const rows = options.shape === undefined ? [] : shapeList(options.shape);
  const dtype = isFloat(scores.dtype) ? scores.dtype : 'float32';
  return draw((state) => {
    const draws = randomUniform(state, [...rows, ...extentsOf(scores)], {
      dtype: dtype === 'float64' ? dtype : 'float32',
    });
    // A draw of exactly 0 gives -infinity: that category is not chosen, as one draw of 2^24 should not be.
    const gumbel = neg(log(neg(log(draws))));
    return argmax(besideOther(gumbel, scores).add(scores), -1);
  }, dtype);
}

const permutable = eitherRule(
  integerFrom(0),
  valueRule(
    'an array with at least one axis',
    (value): value is NDArray => value instanceof NDArray && value.ndim > 0,
  ),
);

/** The numbers below `n`, or the rows of an array, in random order. */
export function permutation(n: number | NDArray): NDArray {
  checkArgument('random.permutation', 'n', n, permutable);
  const count = typeof n === 'number' ? n : extentsOf(n)[0];
  return draw((state) => {
    // 53 random bits for each place: a tie, which would favor an order, is next to impossible.
    const order = argsort(randomUniform(state, [count], { dtype: 'float64' }));
    return typeof n === 'number' ? order : n.take(besideOther(order, n), { axis: 0 });
  }, 'float64');
}
