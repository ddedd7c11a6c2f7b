import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { settings } from '../../support/settings.js';
import { ArrayProgramWriter } from './array-programs.js';
import { converted, original } from '../convert.js';
import { runPlainly } from './plain-number.js';
import { checkSmallest } from './shrink.js';

/* Laws 2 and 3 on random programs: plain numbers run the code as it was written. */

type OnArrays = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
) => kn.NDArray;

const inputs: readonly (readonly [number, number])[] = [[0.3, -1.2], [2.5, 0.7], [-0.9, 1.9]]; // prettier-ignore
const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });
const stacked = (...all: kn.NDArray[]): kn.NDArray => kn.stack(all);

const count = settings.programs ?? 20;
const first = settings.seed ?? 1;

for (let part = 0; part < 2; part++) {
  test(`random programs about arrays, part ${part + 1}`, () => {
    for (let k = part; k < count; k += 2) {
      const seed = first + k;
      checkSmallest(new ArrayProgramWriter(seed).write(), (code) => {
        const plain = original(code);
        const f = converted(code) as unknown as OnArrays;
        const hybrid = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => f(a, b, stacked));
        for (const [a, b] of inputs) {
          const expected = runPlainly(plain, a, b).value;
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
      });
    }
  });
}

/** The result and the gradients, or what refuses. */
type Outcome = { readonly refusal: string } | { readonly numbers: readonly number[] };

type Refusing = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
  demand: (condition: kn.NDArray | boolean, message: string) => void,
) => kn.NDArray;

function refusalOf(error: unknown, where: string): Outcome {
  if (error instanceof kn.CheckError) return { refusal: /[^:]*$/.exec(error.problem)![0].trim() };
  const isThrown = error instanceof RangeError || error instanceof TypeError;
  if (isThrown && error.message.startsWith('refusal ')) {
    return { refusal: `${error.constructor.name}: ${error.message}` };
  }
  throw new Error(where, { cause: error });
}

for (let part = 0; part < 2; part++) {
  test(`random programs that throw and check, part ${part + 1}`, () => {
    const seen = { refusals: 0, results: 0 };
    for (let k = part; k < count; k += 2) {
      const seed = first + k;
      checkSmallest(new ArrayProgramWriter(seed, { refuses: true }).write(), (code) => {
        const f = converted(code) as unknown as Refusing;
        const hybrid = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => f(a, b, stacked, kn.check));
        for (const values of inputs) {
          const where = `program ${seed} on ${values}:\n${code}\n`;
          const outcome = (run: (a: kn.NDArray, b: kn.NDArray) => kn.NDArray): Outcome => {
            const [a, b] = values.map(scalar);
            for (const each of [a, b]) each.attachGrad();
            try {
              const y = kn.autograd.record(() => run(a, b).add(a.mul(0)));
              y.backward();
              return { numbers: [y, a.grad!, b.grad!].map((each) => Number(each.item())) };
            } catch (error) {
              return refusalOf(error, where);
            }
          };
          const expected = outcome((a, b) => f(a, b, stacked, kn.check));
          const found = outcome(hybrid);
          if ('refusal' in expected) {
            seen.refusals++;
            assert.deepEqual(found, expected, where);
            assert.throws(() => hybrid(scalar(values[0]), scalar(values[1])), where);
          } else {
            seen.results++;
            assert.ok('numbers' in found, `${where}${JSON.stringify(found)}`);
            assertClose(found.numbers, expected.numbers, 1e-6, where);
            const again = hybrid(scalar(values[0]), scalar(values[1]));
            assertClose([Number(again.item())], [expected.numbers[0]], 1e-6, where);
          }
        }
      });
    }
    assert.ok(seen.refusals > count / 12 && seen.results > count / 12, JSON.stringify(seen));
  });
}

type Pushing = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
  demand: undefined,
  total: (list: readonly kn.NDArray[]) => kn.NDArray,
) => kn.NDArray;

/** A number that the order of the rows decides, and how many they are. */
const total = (list: readonly kn.NDArray[]): kn.NDArray =>
  kn.cumsum(kn.stack(list), 0).sum().add(list.length);

for (let part = 0; part < 2; part++) {
  test(`random programs that push rows, part ${part + 1}`, () => {
    for (let k = part; k < count; k += 2) {
      const seed = first + k;
      checkSmallest(new ArrayProgramWriter(seed, { pushes: true }).write(), (code) => {
        const f = converted(code) as unknown as Pushing;
        const hybrid = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => f(a, b, stacked, undefined, total)); // prettier-ignore
        for (const values of inputs) {
          const where = `program ${seed} on ${values}:\n${code}\n`;
          const numbers = (
            run: (a: kn.NDArray, b: kn.NDArray) => kn.NDArray,
          ): readonly number[] => {
            const [a, b] = values.map(scalar);
            for (const each of [a, b]) each.attachGrad();
            try {
              const y = kn.autograd.record(() => run(a, b).add(a.mul(0)));
              y.backward();
              return [y, a.grad!, b.grad!, run(a, b)].map((each) => Number(each.item()));
            } catch (error) {
              throw new Error(where, { cause: error });
            }
          };
          const expected = numbers((a, b) => f(a, b, stacked, undefined, total));
          assertClose(numbers(hybrid), expected, 1e-6, where);
        }
      });
    }
  });
}
