import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDim, type Dim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import {
  add,
  booleanMask,
  broadcastTo,
  cast,
  cond,
  foreach,
  greater,
  less,
  mul,
  sum,
  whileLoop,
} from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats } from '../../support/programs.js';
import { hosted, program } from './host.js';

const n = symbol('n');
const m = symbol('m');
const vector = { dtype: 'float32', shape: [n] } as const;
const matrix = { dtype: 'float32', shape: [n, m] } as const;
const float = { dtype: 'float32', shape: [] } as const;

const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

test('branches that give other sizes, before more that depends on them', () => {
  const then = program([vector, vector], (x, y) => [booleanMask(x, greater(x, y)), x]);
  const otherwise = program([vector, vector], (x, y) => [add(x, y), booleanMask(y, less(x, y))]);
  const executable = compile(
    program([vector, vector], (x, y) => {
      const [a, b] = cond<Value>(greater(sum(x), sum(y)), then, otherwise, [mul(x, 2), y]);
      const large = booleanMask(a, greater(a, 3));
      return [a, b, sum(large), mul(b, 10)];
    }),
  );
  const cases = [
    [
      [1, 2, 3],
      [0, 5, 0],
    ],
    [
      [1, 2],
      [4, 5],
    ],
    [[], []],
    [[7], [1]],
    [
      [1, 2, 3],
      [9, 5, 0],
    ],
  ];
  for (const [given, y] of cases) {
    const x = given.map((e) => 2 * e);
    const isTrue = total(given) > total(y);
    const a = isTrue ? x.filter((e, i) => e > y[i]) : x.map((e, i) => e + y[i]);
    const b = isTrue ? x : y.filter((e, i) => x[i] < e);
    const results = executable.run([floats([given.length], given), floats([y.length], y)]);
    assert.deepEqual(results.map(elementsOf), [
      a,
      b,
      [total(a.filter((e) => e > 3))],
      b.map((e) => 10 * e),
    ]);
    assert.deepEqual(
      results.map(({ shape }) => shape),
      [[a.length], [b.length], [], [b.length]],
    );
  }
});

test('code is made for what is taken only', () => {
  const then = program([vector], (x) => [booleanMask(x, greater(x, 0))]);
  const otherwise = program([vector], (x) => [mul(x, 2)]);
  const executable = compile(
    program([vector], (x) => cond<Value>(greater(sum(x), 0), then, otherwise, [x])),
  );
  const regions = (): number => [...executable.toString().matchAll(/^region \d:/gm)].length;
  assert.equal(regions(), 0);
  assert.deepEqual(elementsOf(executable.run([floats([2], [3, -1])])[0]), [3]);
  assert.equal(regions(), 1);
  assert.deepEqual(elementsOf(executable.run([floats([2], [3, -1])])[0]), [3]);
  assert.equal(regions(), 1);
  assert.deepEqual(elementsOf(executable.run([floats([2], [-3, 1])])[0]), [-6, 2]);
  assert.equal(regions(), 2);
});

test('a branch that hands an operand back does not hand out its memory', () => {
  const then = program([vector], (x) => [x]);
  const otherwise = program([vector], (x) => [booleanMask(x, greater(x, 0))]);
  const executable = compile(
    program([vector], (x) => {
      const [y] = cond<Value>(greater(sum(x), 0), then, otherwise, [x]);
      return [y, y];
    }),
  );
  const x = floats([2], [1, 2]);
  const [y, again] = executable.run([x]);
  assert.equal(new Set([x.storage, y.storage, again.storage]).size, 3);
  assert.equal(new Set([x, y, again].map(({ storage }) => storage.host.buffer)).size, 3);
  assert.deepEqual([y, again].map(elementsOf), [
    [1, 2],
    [1, 2],
  ]);
});

/**
 * For every row of a matrix, while it has positive elements: where their sum is over a bound, they are
 * halved and 1 is added to a count, otherwise all is lessened by 1 and the number of positive ones added.
 */
test('loops inside of branches inside of loops', () => {
  const row = { dtype: 'float32', shape: [m] } as const;
  const halve = program([row, float], (x, marks) => [mul(x, 0.5), add(marks, 1)]);
  const one = program([float, float], (e, marks) => {
    const kept = booleanMask(e, greater(e, 0));
    return [add(marks, cast(sum(greater(kept, 0)), 'float32'))];
  });
  const lessen = program([row, float], (x, marks) => {
    const positive = booleanMask(x, greater(x, 0));
    const [more] = foreach<Value>(one, { data: [positive], states: [marks], captures: [] });
    return [add(x, -1), more];
  });
  const goesOn = program([row, float], (x) => [greater(sum(booleanMask(x, greater(x, 0))), 0)]);
  const step = program([row, float], (x, marks) => {
    const positive = booleanMask(x, greater(x, 0));
    const [next, more] = cond<Value>(greater(sum(positive), 6), halve, lessen, [x, marks]);
    return [sum(positive), next, more];
  });
  const perRow = program([row, float], (x, before) => {
    const [sums, left, marks, iterations] = whileLoop<Value>(goesOn, step, {
      states: [x, before],
      captures: [],
    });
    return [sum(sums), left, iterations, marks];
  });
  const executable = compile(
    program([matrix, float], (x, start) =>
      foreach<Value>(perRow, { data: [x], states: [start], captures: [] }),
    ),
  );
  for (const rows of [
    [
      [1, 2, 3, 4],
      [8, -1, 8, 0],
    ],
    [[0, -1]],
    [],
    [[16], [3], [-2]],
  ]) {
    const width = rows[0]?.length ?? 3;
    let marks = 5;
    const sums: number[] = [];
    const left: number[] = [];
    const iterations: number[] = [];
    for (const given of rows) {
      let x: readonly number[] = given;
      let seen = 0;
      let count = 0;
      for (;;) {
        const positive = x.filter((e) => e > 0);
        if (total(positive) <= 0) break;
        seen += total(positive);
        count++;
        if (total(positive) > 6) {
          x = x.map((e) => e / 2);
          marks++;
        } else {
          marks += positive.length;
          x = x.map((e) => e - 1);
        }
      }
      sums.push(seen);
      left.push(...x);
      iterations.push(count);
    }
    const results = executable.run([floats([rows.length, width], rows.flat()), floats([], [5])]);
    assert.deepEqual(results.map(elementsOf), [sums, left, iterations, [marks]]);
  }
});

test('a size of a branch is none of its surroundings, though both have one name', () => {
  const then = program([vector], (x) => [x]);
  const otherwise = program([vector], (x) => [booleanMask(x, greater(x, 5))]);
  const executable = compile(
    program([vector], (x) => {
      const positive = booleanMask(x, greater(x, 0));
      const [chosen] = cond<Value>(less(sum(positive), 10), then, otherwise, [positive]);
      return [chosen, mul(positive, 2)];
    }),
  );
  for (const x of [[1, -2, 3], [9, -1, 4, 7], []]) {
    const positive = x.filter((e) => e > 0);
    const chosen = total(positive) < 10 ? positive : positive.filter((e) => e > 5);
    const results = executable.run([floats([x.length], x)]);
    assert.deepEqual(results.map(elementsOf), [chosen, positive.map((e) => 2 * e)]);
  }
});

/** A number, as often as a branch is told, and a sum of so many. */
function repeating(factor: number, count: (size: Dim) => Dim): Program {
  const made = new Program();
  made.takeSize(n);
  const x = made.variable('x', float);
  const many = broadcastTo<Value>(mul(x, factor), [count(n)]);
  made.setOutputs([many, sum(many)].map((value, k) => ({ name: `y${k}`, value })));
  return made;
}

test('branches are passed sizes: of operands, and of what the data decides', () => {
  const [twice, thrice] = [repeating(2, (size) => mulDim(size, 2)), repeating(3, (size) => addDim(size, 1))]; // prettier-ignore
  const executable = compile(
    program([vector, float], (x, y) => {
      const some = booleanMask(x, greater(x, 0));
      const [many, sums] = cond<Value>(greater(y, 0), twice, thrice, [y], some.type.shape);
      return [many, sums, some];
    }),
  );
  for (const x of [[1, -2, 3], [-1], [], [4, 5]]) {
    for (const y of [1.5, -1.5]) {
      const some = x.filter((e) => e > 0);
      const many = Array.from({ length: y > 0 ? 2 * some.length : some.length + 1 }, () => (y > 0 ? 2 : 3) * y); // prettier-ignore
      const results = executable.run([floats([x.length], x), floats([], [y])]);
      assert.deepEqual(results.map(elementsOf), [many, [total(many)], some]);
    }
  }
});

test('branches that are compiled, or run by the host, are passed sizes', () => {
  const [first, second] = [2, 3].map((factor) => repeating(factor, (size) => mulDim(size, 2)));
  const loop = program([vector, float], (x, y) =>
    cond<Value>(greater(y, 0), first, second, [y], x.type.shape),
  );
  const compiled = compile(loop);
  assert.ok(!compiled.toString().includes('call region'));
  for (const run of [
    hosted(loop),
    (operands: Parameters<typeof compiled.run>[0]) => compiled.run(operands),
  ]) {
    for (const size of [0, 1, 3]) {
      for (const y of [1.5, -1.5]) {
        const many = Array.from({ length: 2 * size }, () => (y > 0 ? 2 : 3) * y);
        const results = run([floats([size], Array.from({ length: size }, () => 7)), floats([], [y])]); // prettier-ignore
        assert.deepEqual(results.map(elementsOf), [many, [total(many)]]);
      }
    }
  }
});
