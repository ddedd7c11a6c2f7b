import * as kn from '../../src/index.js';

/** The rows of a matrix of integers as lists. */
export function rowsOf(matrix: kn.NDArray<'int32'>): number[][] {
  const [rows, width] = matrix.shape;
  const elements = matrix.dataSync();
  return Array.from({ length: rows }, (_, row) => [
    ...elements.subarray(row * width, (row + 1) * width),
  ]);
}

/** The numbers below `count` in random order. */
export function shuffledNumbers(count: number): number[] {
  return Array.from(kn.random.permutation(count).dataSync(), Number);
}
