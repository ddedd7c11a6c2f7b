import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { add, booleanMask, greater, less, mul, sum, whileLoop } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { hosted, program } from './host.js';

const n = symbol('n');
const m = symbol('m');
const int = { dtype: 'int32', shape: [] } as const;
const vector = { dtype: 'float32', shape: [n] } as const;

/** Counts to a bound, adds a capture to a vector each time, and gives the vector so far. */
const condition = program([int, vector, int, vector], (at, _state, end) => [less(at, end)]);
const body = program([int, vector, int, vector], (at, state, _end, step) => {
  const next = add(state, step);
  return [mul(next, 2), at, add(at, 1), next];
});

function counting(limit: number | null, padded: boolean): Program {
  return program([int, vector, int, vector], (at, state, end, step) =>
    whileLoop<Value>(condition, body, {
      states: [at, state],
      captures: [end, step],
      limit,
      padded,
    }),
  );
}

const ends = [0, 1, 2, 63, 64, 65, 191, 192, 193, 500];

function check(
  run: (operands: readonly ReturnType<typeof floats>[]) => readonly ReturnType<typeof floats>[],
  limit: number | null,
  padded: boolean,
): void {
  for (const end of ends) {
    for (const width of [3, 0]) {
      const step = [1, 2, 3].slice(0, width);
      const start = floats([width], [10, 20, 30].slice(0, width));
      const [rows, at, final, state, iterations] = run([
        operand('int32', [], [0]),
        start,
        operand('int32', [], [end]),
        floats([width], step),
      ]);
      const count = Math.min(end, limit ?? Infinity);
      const after = (k: number): number[] => step.map((s, i) => 10 * (i + 1) + k * s);
      const expected = Array.from({ length: count }, (_, k) => after(k + 1).map((x) => 2 * x));
      const positions = Array.from({ length: count }, (_, k) => k);
      const missing = padded ? limit! - count : 0;
      assert.deepEqual(rows.shape, [count + missing, width], `${end} of ${limit}`);
      assert.deepEqual(elementsOf(rows), [...expected.flat(), ...Array<number>(missing * width).fill(0)]); // prettier-ignore
      assert.deepEqual(elementsOf(at), [...positions, ...Array<number>(missing).fill(0)]);
      assert.deepEqual(elementsOf(final), [count]);
      assert.deepEqual(elementsOf(state), after(count));
      assert.deepEqual(elementsOf(iterations), [count]);
      assert.notEqual(state.storage, start.storage);
    }
  }
}

const forms: readonly (readonly [number | null, boolean])[] = [
  [null, false],
  [0, false],
  [1, false],
  [64, false],
  [100, false],
  [192, false],
  [0, true],
  [64, true],
  [100, true],
];

for (const [limit, padded] of forms) {
  test(`limit ${limit}${padded ? ', padded' : ''}: one call of the body for each iteration`, () => {
    check(hosted(counting(limit, padded)), limit, padded);
  });
}

for (const [limit, padded] of forms) {
  test(`limit ${limit}${padded ? ', padded' : ''}: compiled, in chunks where it has to be`, () => {
    const executable = compile(counting(limit, padded));
    assert.equal(/^chunk 0:/m.test(executable.toString()), !padded);
    check((operands) => executable.run(operands), limit, padded);
  });
}

test('a loop whose iterations decide sizes', () => {
  const row = { dtype: 'float32', shape: [m] } as const;
  const goesOn = program([int, row], (_at, x) => [greater(sum(booleanMask(x, greater(x, 0))), 0)]);
  const step = program([int, row], (at, x) => {
    const positive = booleanMask(x, greater(x, 0));
    return [sum(positive), sum(greater(x, 0)), add(at, 1), add(x, -1)];
  });
  const executable = compile(
    program([row], (x) => {
      const at = x.program.constant({ type: int, data: Int32Array.of(0) });
      const [sums, counts, last, left, iterations] = whileLoop<Value>(goesOn, step, {
        states: [at, x],
        captures: [],
      });
      return [add(sums, 1), sum(counts), last, left, iterations];
    }),
  );
  for (const given of [[], [3, 1, -4], [0, -1], [5], [2, 2, 7, -9]]) {
    let x: readonly number[] = given;
    const sums: number[] = [];
    let counts = 0;
    for (;;) {
      const positive = x.filter((e) => e > 0);
      if (positive.length === 0) break;
      sums.push(1 + positive.reduce((a, b) => a + b, 0));
      counts += positive.length;
      x = x.map((e) => e - 1);
    }
    const results = executable.run([floats([given.length], given)]);
    assert.deepEqual(results.map(numbersOf), [sums, [counts], [sums.length], x, [sums.length]]);
  }
});
