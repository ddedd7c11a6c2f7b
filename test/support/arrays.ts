import type { DType } from '../../src/base/dtype.js';
import { kindOf } from '../../src/base/dtype.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { elementsOf, operand } from './programs.js';

/** Plain arrays for naive loops in tests. */

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}

/** Random elements: floats in [-1, 1), integers from -9 to 9 (or 0 to 9), booleans. */
export function randomOperand(
  random: () => number,
  shape: readonly number[],
  dtype: DType = 'float64',
): Operand {
  const element = (): number | bigint | boolean => {
    if (dtype === 'bool') return random() < 0.5;
    if (kindOf(dtype) === 'float') return random() * 2 - 1;
    const whole =
      Math.floor(random() * (dtype === 'uint8' ? 10 : 19)) - (dtype === 'uint8' ? 0 : 9);
    return dtype === 'int64' ? BigInt(whole) : whole;
  };
  return operand(dtype, shape, Array.from({ length: sizeOf(shape) }, element));
}

/** The elements as numbers. */
export function numbersOf(array: Operand): number[] {
  return elementsOf(array).map(Number);
}

/** Every index of a shape, in row-major order. */
export function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (found, extent) =>
      found.flatMap((index) => Array.from({ length: extent }, (_, at) => [...index, at])),
    [[]],
  );
}

/** The row-major position of an index. */
export function positionOf(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((flat, at, axis) => flat * shape[axis] + at, 0);
}
