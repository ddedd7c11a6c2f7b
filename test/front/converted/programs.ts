import assert from 'node:assert/strict';
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

/** Result and gradients of such a function. */
export function outcome(f: Fn, value: number, rows: kn.NDArray): unknown {
  const [a, r] = [kn.array(value), rows.mul(1)];
  a.attachGrad();
  r.attachGrad();
  const [y, sum] = kn.autograd.record(() => {
    const result = f(a, r).mul(1);
    return [result, result.mul(result).sum()];
  });
  sum.backward();
  return { y: y.tolist(), a: a.grad!.tolist(), rows: r.grad!.tolist() };
}

/** Compares results and gradients of captured code with those of eager code. */
export function assertAsEager(text: string): void {
  const f = fn(text);
  const captured = kn.hybridize(f);
  for (const value of [9, 3, 0.5]) {
    for (const count of [5, 1]) {
      const rows = table.slice([0, count]);
      assert.deepEqual(outcome(captured, value, rows), outcome(f, value, rows), `${value}, ${count}`); // prettier-ignore
    }
  }
}
