import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';

/*
 * JavaScript's operators and functions of `Math` on numbers that captured code assigns: the results are those of
 * JavaScript on the same numbers, exactly where no rounding is involved.
 */

const floats: readonly number[] = [0, -0, 0.5, -0.5, 1, -1, 1.5, 2.5, -2.5, 2, 7.25, -3, 31, 0.49999997, -0.2, 8388609, 3e9, -3e9, 5e9, 1e20, -1e20, Infinity, -Infinity, NaN].map(Math.fround); // prettier-ignore
const integers: readonly number[] = [0, 1, 2, 3, 5, -1, -2, -4, 33];

const binary = ['+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', '===', '!==', '|', '&', '^', '<<', '>>']; // prettier-ignore
const exact = ['Math.max(x, y)', 'Math.min(x, y)', 'Math.abs(x)', 'Math.floor(x)', 'Math.ceil(x)', 'Math.trunc(x)', 'Math.round(x)', 'Math.sign(x)', 'Math.fround(x)', 'Math.max(x, 1, y)', '-x', '+x', '~x', '!x', 'Number(x)', 'Boolean(x)', 'isNaN(x)', 'isFinite(x)', 'Number.isNaN(x)', 'Number.isFinite(x)', 'Number.isInteger(x)', 'Number.isSafeInteger(x)', 'typeof x', 'typeof (x < 1)', 'typeof !x', 'typeof none']; // prettier-ignore
const rounded = ['x ** y', 'Math.pow(x, y)', 'x ** -1', 'x ** 2', 'Math.sqrt(x)', 'Math.cbrt(x)', 'Math.exp(x)', 'Math.expm1(x)', 'Math.log(x)', 'Math.log1p(x)', 'Math.log2(x)', 'Math.log10(x)', 'Math.tanh(x)', 'Math.sinh(x)', 'Math.cosh(x)', 'Math.asinh(x)', 'Math.atan(x)', 'Math.atan2(x, y)', 'Math.hypot(x, y)', 'Math.hypot(x)']; // prettier-ignore

/** The value of an expression of `x` and `y`, which captured code makes arrays of. */
function captured(
  expression: string,
  dtype: 'int32' | 'float32',
): (x: number, y: number) => unknown {
  const count = (name: string): string =>
    `while (${name}0.greater(0)) { ${name}0 = ${name}0.sub(1); ${name}++; } while (${name}0.less(0)) { ${name}0 = ${name}0.add(1); ${name}--; }`;
  const choice = (name: string): string =>
    `for (let k = 0; k < values.length; k++) if (${name}0.equal(k)) ${name} = values[k];`;
  const make = dtype === 'int32' ? count : choice;
  const f = converted(`function main(x0, y0, values) { 'use graph'; let x = 0, y = 0; ${make('x')} ${make('y')} return ${expression}; }`) as unknown as (x: kn.NDArray, y: kn.NDArray, values: readonly number[]) => kn.NDArray; // prettier-ignore
  const hybrid = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => f(x, y, floats));
  return (x, y) => {
    const of = (value: number): kn.NDArray => kn.array(dtype === 'int32' ? value : floats.findIndex((each) => Object.is(each, value)), { dtype: 'int32' }); // prettier-ignore
    const given: kn.NDArray = hybrid(of(x), of(y));
    return given instanceof kn.NDArray ? given.item() : given;
  };
}

// The tests are about code that is put together while they run.
// oxlint-disable-next-line typescript/no-implied-eval, no-new-func
const plain = (expression: string): ((x: number, y: number) => unknown) => new Function('x', 'y', `return ${expression};`) as (x: number, y: number) => unknown; // prettier-ignore

/** A result as float32 has it; bits are int32. */
const stored = (value: unknown, expression: string): unknown =>
  typeof value === 'number' && !/ [|&^] |<<|>>|~/.test(expression) ? Math.fround(value) : value;

function isSame(actual: unknown, expected: unknown, margin: number): boolean {
  if (Object.is(actual, expected)) return true;
  if (typeof actual !== 'number' || typeof expected !== 'number') return false;
  return Math.abs(actual - expected) <= margin * Math.max(Math.abs(expected), 1e-30);
}

function check(expression: string, dtype: 'int32' | 'float32', margin: number): void {
  const [f, g] = [captured(expression, dtype), plain(expression)];
  const values = dtype === 'int32' ? integers : floats;
  const usesBoth = /\by\b/.test(expression);
  for (const x of values) {
    for (const y of usesBoth ? values : [1]) {
      let [actual, expected] = [f(x, y), stored(g(x, y), expression)];
      // Integers have no -0.
      if (dtype === 'int32') [actual, expected] = [actual, expected].map((each) => (each === 0 ? 0 : each)); // prettier-ignore
      assert.ok(isSame(actual, expected, margin), `${expression} of ${dtype} ${x}, ${y}: ${actual}, not ${expected}`); // prettier-ignore
    }
  }
}

for (const dtype of ['int32', 'float32'] as const) {
  test(`operators on numbers that are ${dtype}`, () => {
    for (const operator of binary) check(`x ${operator} y`, dtype, 0);
  });
  test(`exact functions of numbers that are ${dtype}`, () => {
    for (const expression of exact) check(expression, dtype, 0);
  });
  test(`functions of numbers that are ${dtype}`, () => {
    // Bounds of the operators are a few units in the last place.
    for (const expression of rounded) check(expression, dtype, 2e-6);
  });
}

test('booleans are numbers in arithmetic, and no numbers where they are compared', () => {
  const f = converted(`function main(a) { 'use graph'; let p = false, q = true; if (a.greater(1)) { p = true; q = false; }
    return [p + p, p - q, -p, +q, p * 3, p / 2, p < q, p === 1, p == 1, p !== 1, p | 4, Math.max(p, q), p ** 2, p % 2, q === true];
  }`) as unknown as (a: kn.NDArray) => (kn.NDArray | boolean)[]; // prettier-ignore
  const g = (p: never, q: never): unknown[] =>
    // oxlint-disable-next-line eqeqeq -- the operator that is tested
    [p + p, p - q, -p, +q, p * 3, p / 2, p < q, false, p == (1 as never), true, p | 4, Math.max(p, q), p ** 2, p % 2, q]; // prettier-ignore
  const hybrid = kn.hybridize(f);
  for (const [a, p] of [
    [3, true],
    [0, false],
  ] as const) {
    const given = hybrid(kn.array(a)).map((each) => (each instanceof kn.NDArray ? each.item() : each)); // prettier-ignore
    const expected = g(p as never, !p as never);
    assert.deepEqual(given.map((each) => (each === 0 ? 0 : each)), expected.map((each) => (each === 0 ? 0 : each))); // prettier-ignore
  }
});
