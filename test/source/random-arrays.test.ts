import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { settings } from '../support/settings.js';
import { ArrayProgramWriter, Plain } from './array-programs.js';
import { converted, original } from './convert.js';

/* Laws 2 and 3 on random programs: plain numbers run the code as it was written. */

type OnArrays = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
) => kn.NDArray;
type OnNumbers = (a: Plain, b: Plain, rows: (...all: Plain[]) => readonly Plain[]) => Plain;

const inputs: readonly (readonly [number, number])[] = [[0.3, -1.2], [2.5, 0.7], [-0.9, 1.9]]; // prettier-ignore
const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });
const stacked = (...all: kn.NDArray[]): kn.NDArray => kn.stack(all);

const count = settings.programs ?? 60;
const first = settings.seed ?? 1;

for (let part = 0; part < 2; part++) {
  test(`random programs about arrays, part ${part + 1}`, () => {
    for (let k = part; k < count; k += 2) {
      const seed = first + k;
      const code = new ArrayProgramWriter(seed).write();
      const plain = original(code) as unknown as OnNumbers;
      const f = converted(code) as unknown as OnArrays;
      const hybrid = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => f(a, b, stacked));
      for (const [a, b] of inputs) {
        const expected = plain(new Plain(a), new Plain(b), (...all) => all).value;
        const where = `program ${seed} on ${a}, ${b}:\n${code}\n`;
        const agree = (run: () => kn.NDArray): void => {
          let result: kn.NDArray;
          try {
            result = run();
          } catch (error) {
            throw new Error(where, { cause: error });
          }
          assertClose([Number(result.item())], [expected], 1e-6, where);
        };
        agree(() => f(scalar(a), scalar(b), stacked));
        agree(() => hybrid(scalar(a), scalar(b)));
      }
      assert.equal(hybrid.explain().traces.length, 1);
    }
  });
}
