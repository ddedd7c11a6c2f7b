import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import type { Program, Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { add, booleanMask, concat, foreach, greater, less, mul, sum, whileLoop } from '../../../src/ops/index.js'; // prettier-ignore
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats, operand, programOf } from '../../support/programs.js';

/* Rows that loops join: an iteration gives any number of them, and they follow one another. */

const f32 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float32', shape });
const scalar = f32();

/** The positive elements of a row, the same twice, the row times the sum so far, and the sum. */
const body: Program = programOf({ x: f32(4), s: scalar }, ({ x, s }) => {
  const found = booleanMask<Value>(x, greater(x, 0));
  return {
    found,
    twice: concat<Value>([found, found]),
    row: mul<Value>(x, s),
    after: add<Value>(s, sum<Value>(x)),
  };
});

/** More rows than there is memory for at first. */
const length = 90;
const elements = Array.from({ length: 4 * length }, (_, k) => ((k * 37) % 11) - 5);

/** What loops over the first rows give, by JavaScript. */
function expected(rows: number): readonly (readonly number[])[] {
  const [found, twice, scaled]: number[][] = [[], [], []];
  let s = 2;
  for (let i = 0; i < rows; i++) {
    const row = elements.slice(4 * i, 4 * i + 4);
    const own = row.filter((each) => each > 0);
    found.push(...own);
    twice.push(...own, ...own);
    scaled.push(...row.map((each) => each * s));
    s += row.reduce((a, b) => a + b);
  }
  return [found, twice, scaled, [s]];
}

const lists = (program: Program, inputs: Parameters<ReturnType<typeof compile>['run']>[0]) =>
  compile(program)
    .run(inputs)
    .map((each) => elementsOf(each).map(Number));

test('foreach joins rows, beside those that it stacks', () => {
  const program = programOf({ x: f32(length, 4), s: scalar }, ({ x, s }) => {
    const [found, twice, row, after] = foreach<Value>(body, { data: [x], states: [s], captures: [], joined: 2 }); // prettier-ignore
    return { found, twice, row, after };
  });
  const inputs = [floats([length, 4], elements), floats([], [2])];
  assert.deepEqual(lists(program, inputs), expected(length));
});

test('a count of rows leaves joined rows as they are, and zeros behind stacked ones', () => {
  const program = programOf({ x: f32(length, 4), s: scalar, n: { dtype: 'int32', shape: [] } }, ({ x, s, n }) => {
    const [found, twice, row, after] = foreach<Value>(body, { data: [x], states: [s], captures: [], count: n, joined: 2 }); // prettier-ignore
    return { found, twice, row, after };
  }); // prettier-ignore
  for (const rows of [0, 3, length]) {
    const n = operand('int32', [], [rows]);
    const [found, twice, row, after] = lists(program, [floats([length, 4], elements), floats([], [2]), n]); // prettier-ignore
    const wanted = expected(rows);
    assert.deepEqual([found, twice, row.slice(0, 4 * rows), after], wanted);
    assert.ok(row.slice(4 * rows).every((each) => each === 0));
  }
});

const four = f32(4);
const goesOn = programOf({ s: scalar, x: four }, ({ s }) => ({ y: less<Value>(s, length) }));
/** The elements of `x` plus `s` above 50, none at first; the sum of all, stacked; the next `s`. */
const next = programOf({ s: scalar, x: four }, ({ s, x }) => {
  const moved = add<Value>(x, s);
  return {
    found: booleanMask<Value>(moved, greater(moved, 50)),
    total: sum<Value>(moved),
    after: add<Value>(s, 1),
  };
});

for (const padded of [false, true]) {
  test(`whileLoop joins rows beside ${padded ? 'padded' : 'stacked'} ones`, () => {
    const limit = padded ? 100 : null;
    const program = programOf({ s: scalar, x: four }, ({ s, x }) => {
      const [found, total, after, iterations] = whileLoop<Value>(goesOn, next, { states: [s], captures: [x], limit, padded, joined: 1 }); // prettier-ignore
      return { found, total, after, iterations };
    });
    const x = [0, 10, 20, 30];
    for (const start of [0, 80, 90]) {
      const moved = Array.from({ length: length - start }, (_, k) => x.map((each) => each + start + k)); // prettier-ignore
      const totals = moved.map((row) => row.reduce((a, b) => a + b));
      const [found, total, ...ends] = lists(program, [floats([], [start]), floats([4], x)]);
      assert.deepEqual(found, moved.flat().filter((each) => each > 50)); // prettier-ignore
      assert.deepEqual(total, padded ? [...totals, ...Array.from({ length: 10 + start }, () => 0)] : totals); // prettier-ignore
      assert.deepEqual(ends, [[90], [length - start]]);
    }
  });
}

test('memory grows for joined rows when the stacked row of the iteration has been written', () => {
  const x = Array.from({ length: 70 }, () => -9.5);
  const many = f32(x.length);
  const goes = programOf({ s: scalar, x: many }, ({ s }) => ({ y: less<Value>(s, 62) }));
  const step = programOf({ s: scalar, x: many }, ({ s, x: all }) => {
    const moved = add<Value>(all, s);
    const found = booleanMask<Value>(moved, greater(moved, 50));
    return { found, row: mul<Value>(s, 2), after: add<Value>(s, 1) };
  });
  const program = programOf({ s: scalar, x: many }, ({ s, x: all }) => {
    const [found, row] = whileLoop<Value>(goes, step, { states: [s], captures: [all], joined: 1 });
    return { found, row };
  });
  const [found, row] = lists(program, [floats([], [0]), floats([x.length], x)]);
  assert.deepEqual(found, [...x.map((each) => each + 60), ...x.map((each) => each + 61)]);
  assert.deepEqual(row, Array.from({ length: 62 }, (_, k) => 2 * k)); // prettier-ignore
});

test('a loop that joins nothing but single elements, and a loop without iterations', () => {
  const pairs = programOf({ x: four }, ({ x }) => ({ y: x }));
  for (const rows of [3, 0]) {
    const program = programOf({ x: f32(rows, 4) }, ({ x }) => ({
      y: foreach<Value>(pairs, { data: [x], states: [], captures: [], joined: 1 })[0],
    }));
    const given = elements.slice(0, 4 * rows);
    assert.deepEqual(lists(program, [floats([rows, 4], given)]), [given]);
  }
});

test('rows without an axis, and rows from the last on, are not joined', () => {
  const single = programOf({ x: four }, ({ x }) => ({ y: sum<Value>(x) }));
  const made = (each: Program, reverse: boolean) => () =>
    programOf({ x: f32(3, 4) }, ({ x }) => ({
      y: foreach<Value>(each, { data: [x], states: [], captures: [], joined: 1, reverse })[0],
    }));
  assert.throws(made(single, false), (error) => error instanceof ShapeError && /no axis to join/.test(error.message)); // prettier-ignore
  assert.throws(
    made(
      programOf({ x: four }, ({ x }) => ({ y: x })),
      true,
    ),
    ArgumentError,
  );
});
