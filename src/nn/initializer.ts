import { describe, number } from '../base/attributes/attribute.js';
import type { DType } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import { checkArgument, nonNegative } from '../base/attributes/options.js';
import { full } from '../front/arrays/creation.js';
import type { NDArray } from '../front/core/ndarray.js';
import * as random from '../front/arrays/random.js';
import { drawingNothing } from './stream.js';

/** Makes the initial value of a parameter. Random ones draw from `kn.random`'s generator. */
export type Initializer = (shape: readonly number[], dtype: DType) => NDArray;

/** Every element is `value`. */
export function constant(value: number): Initializer {
  checkArgument('initializer.constant', 'value', value, number);
  return drawingNothing((shape, dtype) => full(shape, value, { dtype }));
}

/** 0 everywhere. */
export const zeros: Initializer = constant(0);
/** 1 everywhere. */
export const ones: Initializer = constant(1);

/** Uniform in [-scale, scale). */
export function uniform(scale: number): Initializer {
  checkArgument('initializer.uniform', 'scale', scale, nonNegative);
  return (shape, dtype) => random.uniform(shape, { low: -scale, high: scale, dtype });
}

/** Normal with mean 0. */
export function normal(std: number): Initializer {
  checkArgument('initializer.normal', 'std', std, nonNegative);
  return (shape, dtype) => random.normal(shape, { std, dtype });
}

/**
 * Variance 2 / (fanIn + fanOut), which preserves the scale of activations and gradients through linear
 * layers. Source: Glorot and Bengio, AISTATS 2010.
 */
export const xavier: Initializer = (shape, dtype) => {
  const { fanIn, fanOut } = fans('initializer.xavier', shape);
  return uniform(Math.sqrt(6 / Math.max(1, fanIn + fanOut)))(shape, dtype);
};

/** Variance 2 / fanIn, for layers followed by a rectifier. Source: He et al., ICCV 2015. */
export const he: Initializer = (shape, dtype) =>
  normal(Math.sqrt(2 / Math.max(1, fans('initializer.he', shape).fanIn)))(shape, dtype);

/** Weights are (outputs, inputs, ...kernel): each kernel position adds to both counts. */
function fans(op: string, shape: readonly number[]): { fanIn: number; fanOut: number } {
  if (!Array.isArray(shape) || shape.length < 2 || !shape.every(Number.isSafeInteger)) {
    throw new ArgumentError('this initializer needs inputs and outputs to count', {
      op,
      expected: 'a parameter of rank 2 or more',
      actual: `shape ${describe(shape)}`,
      advice: 'use uniform, normal or constant for vectors',
    });
  }
  const receptive = shape.slice(2).reduce((size, extent) => size * extent, 1);
  return { fanIn: shape[1] * receptive, fanOut: shape[0] * receptive };
}
