import { type Dim, symbol } from '../../src/base/dim/index.js';
import type { DType } from '../../src/base/dtype.js';
import type { Program } from '../../src/ir/program.js';
import type { TensorType } from '../../src/ir/types.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { sizeOf } from '../support/arrays.js';
import { floats } from '../support/programs.js';

/** A program whose generated code is kept, with what it must compute. */
export interface GoldenCase {
  /** Also that of its file. */
  readonly name: string;
  readonly program: Program;
  readonly inputs: readonly Operand[];
  /** The elements of the outputs, computed by plain loops. */
  readonly expected: readonly (readonly number[])[];
}

/** The rows of programs that are made for any number of them. */
export const rows: Dim = symbol('rows');

export function type(dtype: DType, ...shape: readonly Dim[]): TensorType {
  return { dtype, shape };
}

export function f32(...shape: readonly Dim[]): TensorType {
  return type('float32', ...shape);
}

/** Elements between -1 and 1 that are float32 exactly, the same at each run. */
export function numbers(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 16) - 32768) / 32768;
  });
}

/** An array of such elements. */
export function array(seed: number, ...shape: readonly number[]): Operand {
  return floats(shape, numbers(sizeOf(shape), seed));
}

/** The matrix product of an `[m, k]` and a `[k, n]`, row-major. */
export function product(
  a: readonly number[],
  b: readonly number[],
  m: number,
  k: number,
  n: number,
): number[] {
  return Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let t = 0; t < k; t++) sum += a[i * k + t] * b[t * n + j];
    return sum;
  });
}

export function sigmoidOf(x: number): number {
  return 1 / (1 + Math.exp(-x));
}
