import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import { gather, mul, scatterAdd, take } from '../../../src/ops/index.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate, gradientsOf } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';

/* Many terms that meet in one element keep their digits, as in other sums: 1e-6 where all have one sign. */

const count = 100_000;
const tenth = Math.fround(0.1);

const all = <T>(length: number, value: T): T[] => Array.from({ length }, () => value);
const positions = (length: number, at: number): Operand => operand('int32', [length], all(length, at)); // prettier-ignore

function near(got: number, wanted: number, relative = 1e-6): void {
  assert.ok(Math.abs(got - wanted) <= relative * Math.abs(wanted), `${got} for ${wanted}`);
}

test('scatterAdd keeps the digits of long sums, whatever was there and in between', () => {
  const terms = operand('float32', [count], Array.from({ length: count }, (_, i) => tenth / (1 + (i % 7)))); // prettier-ignore
  const wanted = numbersOf(terms).reduce((total, term) => total + term, 0);
  for (const start of [0, 5, 1e6]) {
    const x = operand('float32', [3], [7, start, -0]);
    for (const target of ['wasm', 'interpreter'] as const) {
      const [sums] = evaluate([x, positions(count, 1), terms], (...given) => scatterAdd(...(given as [Value, Value, Value])), target).map(numbersOf); // prettier-ignore
      near(sums[1], start + wanted);
      assert.deepEqual([sums[0], Object.is(sums[2], -0)], [7, true]); // where nothing arrives nothing changes
    }
  }
});

test('sums of 16-bit floats by position are rounded once', () => {
  const term = 0.0999755859375; // the float16 next to 0.1
  const terms = operand('float16', [4096], all(4096, term));
  const x = operand('float16', [2], [0, 1]);
  const [sums] = evaluate([x, positions(4096, 0), terms], (...given) => scatterAdd(...(given as [Value, Value, Value]))).map(numbersOf); // prettier-ignore
  assert.deepEqual(sums, [409.5, 1]);
});

test('infinities and NaN arrive as they are, and in no other element', () => {
  for (const [terms, wanted] of [
    [[Infinity, 1], Infinity],
    [[1, -Infinity], -Infinity],
    [[Infinity, -Infinity], NaN],
    [[NaN, 1], NaN],
    [[3e38, 3e38, -3e38], Infinity],
  ] as const) {
    const list = [...terms, ...all(30, 1)];
    const x = operand('float32', [2], [0, 0.5]);
    const [sums] = evaluate([x, positions(list.length, 0), operand('float32', [list.length], list)], (...given) => scatterAdd(...(given as [Value, Value, Value]))).map(numbersOf); // prettier-ignore
    assert.deepEqual(sums, [wanted, 0.5]);
  }
});

test('gradients of take and gather keep the digits of elements that were taken often', () => {
  const x = operand('float32', [4], [1, 2, 3, 4]);
  const often = positions(count, 2);
  for (const taken of [
    (value: Value, at: Value): Value => take(value, at, { axis: 0 }),
    (value: Value, at: Value): Value => gather(value, at, 0),
  ]) {
    const [slopes] = gradientsOf([x, often], (value, at) => mul(taken(value, at), tenth));
    assert.deepEqual([slopes![0], slopes![1], slopes![3]], [0, 0, 0]);
    near(slopes![2], count * tenth);
  }
  const table = operand('float32', [3, 5], all(15, 1));
  const [rows] = gradientsOf([table, positions(count, 1)], (value, at) => mul(take(value, at, { axis: 0 }), tenth)); // prettier-ignore
  rows!.forEach((slope, i) =>
    i >= 5 && i < 10 ? near(slope, count * tenth) : assert.equal(slope, 0),
  );
});

/** A table with more elements than terms arrive at it, by rows and by elements. */
test('tables larger than what arrives keep the digits of rows that are met often', () => {
  const terms = 3000;
  const at = Array.from({ length: terms }, (_, i) => (i % 3 === 0 ? 4000 - (i % 5) : 17));
  const indices = operand('int32', [terms], at);
  const tally = new Map<number, number>();
  for (const row of at) tally.set(row, (tally.get(row) ?? 0) + 1);
  for (const target of ['wasm', 'interpreter'] as const) {
    const table = operand('float32', [4001, 3], all(4001 * 3, 0.5));
    const updates = operand('float32', [terms, 2], all(terms * 2, tenth));
    const wide = operand(
      'int32',
      [terms, 2],
      at.flatMap((row) => [row, row]),
    );
    const flat = operand('float32', [4001], all(4001, -0));
    const [rows, elements] = evaluate(
      [table, wide, updates, flat, indices, operand('float32', [terms], all(terms, tenth))],
      (x, i, u, y, j, v) => [scatterAdd(x, i, u, 0), scatterAdd(y, j, v)],
      target,
    ).map(numbersOf);
    for (let row = 0; row < 4001; row++) {
      const sum = (tally.get(row) ?? 0) * tenth;
      near(rows[3 * row], 0.5 + sum, 2e-7);
      near(rows[3 * row + 1], 0.5 + sum, 2e-7);
      assert.equal(rows[3 * row + 2], 0.5); // no position has so many columns
      if (sum === 0) assert.ok(Object.is(elements[row], -0));
      else near(elements[row], sum, 2e-7);
    }
  }
  const table = operand('float32', [4001, 5], all(4001 * 5, 1));
  const [slopes] = gradientsOf([table, indices], (value, j) => mul(take(value, j, { axis: 0 }), tenth)); // prettier-ignore
  slopes!.forEach((slope, i) => near(slope, (tally.get(Math.floor(i / 5)) ?? 0) * tenth, 2e-7));
});
