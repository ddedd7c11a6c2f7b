import * as kn from '../../../src/index.js';
import { converted } from '../../source/convert.js';

Object.assign(globalThis, { kn });

export type Fn = (...args: kn.NDArray[]) => kn.NDArray;

/** A converted function of an array `a`, a number, and `rows`, of two columns. `kn` is the library. */
export const fn = (text: string): Fn =>
  converted(`function main(a, rows) { 'use graph';\n${text} }`) as unknown as Fn;

/** Rows for such functions. */
export const table: kn.NDArray = kn.array([
  [1, 2],
  [3, -4],
  [-5, 6],
  [0.5, 8],
  [2, 2],
]);
