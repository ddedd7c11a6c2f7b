import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import type { Value } from '../../../src/ir/program.js';
import {
  add,
  booleanMask,
  expandDims,
  extents,
  foreach,
  greater,
  matmul,
  mul,
  sum,
  transpose,
} from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { numbersOf } from '../../support/arrays.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { hosted, program } from './host.js';

const n = symbol('n');
const m = symbol('m');
const float = (...shape: (typeof n | number)[]) => ({ dtype: 'float32', shape }) as const;
const count = { dtype: 'int32', shape: [] } as const;

/** Gives each new state times a capture, and carries sums of rows times numbers. */
const weighted = program([float(m), float(), float(m), float(m)], (row, factor, state, capture) => {
  const next = add(state, mul(row, factor));
  return [mul(next, capture), next];
});

function weightedRows(
  rows: readonly (readonly number[])[],
  factors: readonly number[],
  start: readonly number[],
  capture: readonly number[],
  order: readonly number[],
): { stacked: number[]; state: number[] } {
  let state = [...start];
  const stacked = rows.map((row) => row.map(() => 0));
  for (const t of order) {
    state = state.map((value, i) => value + rows[t][i] * factors[t]);
    stacked[t] = state.map((value, i) => value * capture[i]);
  }
  return { stacked: stacked.flat(), state };
}

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const rowsOf = (length: number, width: number): number[][] =>
  range(length).map((t) => range(width).map((i) => ((t * 7 + i * 3) % 11) - 5));

test('forwards and backwards, with states and captures, of any length and width', () => {
  for (const reverse of [false, true]) {
    const run = hosted(
      program([float(n, m), float(n), float(m), float(m)], (x, f, s, c) =>
        foreach<Value>(weighted, { data: [x, f], states: [s], captures: [c], reverse }),
      ),
    );
    for (const [length, width] of [
      [0, 3],
      [1, 3],
      [5, 2],
      [6, 0],
      [9, 1],
    ]) {
      const rows = rowsOf(length, width);
      const factors = range(length).map((t) => (t % 3) - 1);
      const [start, capture] = [range(width), range(width).map((i) => i + 2)];
      const order = reverse ? range(length).reverse() : range(length);
      const expected = weightedRows(rows, factors, start, capture, order);
      const initial = floats([width], start);
      const [stacked, state] = run([
        floats([length, width], rows.flat()),
        floats([length], factors),
        initial,
        floats([width], capture),
      ]);
      assert.deepEqual(stacked.shape, [length, width]);
      assert.deepEqual(elementsOf(stacked), expected.stacked);
      assert.deepEqual(elementsOf(state), expected.state);
      assert.notEqual(state.storage, initial.storage, 'a result has a storage of its own');
      assert.deepEqual(elementsOf(initial), start);
    }
  }
});

test('a count of rows: the leading ones, zero in the rest', () => {
  for (const reverse of [false, true]) {
    const loop = program([float(n, m), float(n), float(m), float(m), count], (x, f, s, c, k) =>
      foreach<Value>(weighted, { data: [x, f], states: [s], captures: [c], count: k, reverse }),
    );
    const run = hosted(loop);
    const rows = rowsOf(5, 2);
    const factors = [1, 2, 3, 4, 5];
    for (const rowCount of range(6)) {
      const order = reverse ? range(rowCount).reverse() : range(rowCount);
      const expected = weightedRows(rows, factors, [1, 2], [3, 4], order);
      const [stacked, state] = run([
        floats([5, 2], rows.flat()),
        floats([5], factors),
        floats([2], [1, 2]),
        floats([2], [3, 4]),
        operand('int32', [], [rowCount]),
      ]);
      assert.deepEqual(elementsOf(stacked), expected.stacked);
      assert.deepEqual(elementsOf(state), expected.state);
    }
    for (const wrong of [-1, 6]) {
      assert.throws(
        () =>
          run([
            floats([5, 2], rows.flat()),
            floats([5], factors),
            floats([2], [1, 2]),
            floats([2], [3, 4]),
            operand('int32', [], [wrong]),
          ]),
        (error) => error instanceof ArgumentError && /a count from 0 to 5/.test(error.message),
      );
    }
  }
});

test('states that change places', () => {
  const body = program([float(), float(), float()], (x, a, b) => [b, add(a, x)]);
  const loop = program([float(n), float(), float()], (x, a, b) =>
    foreach<Value>(body, { data: [x], states: [a, b], captures: [] }),
  );
  let [a, b] = [1, 10];
  const given = [5, 7, 9, 11, 13];
  for (const x of given) [a, b] = [b, a + x];
  const results = hosted(loop)([floats([5], given), floats([], [1]), floats([], [10])]);
  assert.deepEqual(results.map(elementsOf), [[a], [b]]);
});

test('operands in memory that moves while the loop runs', () => {
  const device = new Device();
  const body = program([float(m), float(m), float(m)], (row, state, capture) => {
    const square = matmul(expandDims(row, 1), expandDims(capture, 0));
    return [sum(square), add(state, sum(mul(square, transpose(square)), 0))];
  });
  const loop = program([float(n, m), float(m), float(m)], (x, s, c) =>
    foreach<Value>(body, { data: [x], states: [s], captures: [c] }),
  );
  const width = 1500;
  const rows = range(3).map((t) => range(width).map((i) => ((i + t) % 3) - 1));
  const capture = range(width).map((i) => (i % 2 === 0 ? 1 : 0));
  const operands = [
    floats([3, width], rows.flat()),
    floats([width], range(width)),
    floats([width], capture),
  ];
  for (const { storage } of operands) storage.pin(device);
  const before = device.buffer;
  const [sums, state] = hosted(loop, { device })(operands);
  assert.notEqual(device.buffer, before, 'the memory has grown');
  const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  assert.deepEqual(
    elementsOf(sums),
    rows.map((row) => total(row) * total(capture)),
  );
  // Column j of square * square^T is sum over i of row_i c_j row_j c_i.
  const expected = range(width).map((j) =>
    rows.reduce(
      (sum, row) => sum + row[j] * capture[j] * total(row.map((x, i) => x * capture[i])),
      j,
    ),
  );
  assert.deepEqual(elementsOf(state), expected);
});

test('a body whose data decides sizes', () => {
  const body = program([float(m), float()], (row, most) => {
    const large = booleanMask(row, greater(row, most));
    return [sum(large), add(most, sum(mul(large, large)))];
  });
  const whole = program([float(n, m)], (x) => {
    const [sums, most] = foreach<Value>(body, {
      data: [mul(x, 2)],
      states: [sum(x)],
      captures: [],
    });
    return [add(sums, 1), most];
  });
  const executable = compile(whole);
  for (const [length, width] of [
    [4, 5],
    [0, 5],
    [3, 0],
    [1, 1],
    [7, 3],
  ]) {
    const rows = rowsOf(length, width);
    let most = rows.flat().reduce((a, b) => a + b, 0);
    const expected = rows.map((row) => {
      const large = row.map((x) => 2 * x).filter((x) => x > most);
      most += large.reduce((a, b) => a + b * b, 0);
      return 1 + large.reduce((a, b) => a + b, 0);
    });
    const [sums, state] = executable.run([floats([length, width], rows.flat())]);
    assert.deepEqual(elementsOf(sums), expected);
    assert.deepEqual(elementsOf(state), [most]);
  }
});

test('sizes that the data decides, bounded by sizes of the operands: one compiled loop', () => {
  // The bound of the second size is the first one, which is itself bounded by the length of a row.
  const body = program([float(m), float()], (row, state) => {
    const some = booleanMask<Value>(row, greater(row, state));
    const few = booleanMask<Value>(some, greater(some, 2));
    return [add(sum<Value>(mul(some, some)), sum<Value>(few)), add(state, sum<Value>(few))];
  });
  const loop = program([float(n, m), float()], (rows, state) =>
    foreach<Value>(body, { data: [rows], states: [state], captures: [] }),
  );
  const compiled = compile(loop);
  assert.ok(!compiled.toString().includes('call region'));
  for (const [length, width] of [[3, 5], [1, 1], [4, 0], [0, 3], [2, 40]]) {
    const rows = Array.from({ length }, (_, t) => Array.from({ length: width }, (_, i) => ((i * 7 + t * 3) % 9) - 3)); // prettier-ignore
    let state = -1;
    const expected = rows.map((row) => {
      const some = row.filter((x) => x > state);
      const few = total(some.filter((x) => x > 2));
      state += few;
      return total(some.map((x) => x * x)) + few;
    });
    const operands = [floats([length, width], rows.flat()), floats([], [-1])];
    for (const results of [compiled.run(operands), hosted(loop)(operands)]) {
      assert.deepEqual(results.map(elementsOf), [expected, [state]]);
    }
  }
}); // prettier-ignore

const total = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0);

test('an iteration that fails is told, with operator and line', () => {
  const body = program([{ dtype: 'int32', shape: [1] }], (size) => [sum(extents<Value>(size))]);
  const executable = compile(
    program([{ dtype: 'int32', shape: [n, 1] }], (x) =>
      x.program.withSource('model.ts:7:3', () =>
        foreach<Value>(body, { data: [x], states: [], captures: [] }),
      ),
    ),
  );
  assert.throws(
    () => executable.run([operand('int32', [4, 1], [1, 2, -3, 4])]),
    (error) =>
      error instanceof ShapeError &&
      error.message.startsWith('foreach: iteration 2: extents: a size is negative') &&
      error.source === 'model.ts:7:3',
  );
  assert.deepEqual(numbersOf(executable.run([operand('int32', [2, 1], [1, 2])])[0]), [0, 0]);
});
