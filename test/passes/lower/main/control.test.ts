import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import type { DType } from '../../../../src/base/dtype.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import {
  add,
  booleanMask,
  cast,
  cond,
  foreach,
  greater,
  less,
  matmul,
  mul,
  reshape,
  shapeOf,
  sum,
  tanh,
  transpose,
  updateSlice,
  whileLoop,
} from '../../../../src/ops/index.js';
import { compile } from '../../../../src/runtime/compile/compile.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';

type Shape = readonly Dim[];

/** A program of its own: inputs by shape, outputs from a function. */
function program(
  inputs: readonly (readonly [Shape, DType?])[],
  body: (values: readonly Value[], into: Program) => readonly Value[],
): Program {
  const into = new Program();
  const values = inputs.map(([shape, dtype = 'float32'], k) =>
    into.variable(`x${k}`, { dtype, shape }),
  );
  into.setOutputs(body(values, into).map((value, k) => ({ name: `y${k}`, value })));
  return into;
}

interface Given {
  readonly shape: readonly number[];
  readonly data: readonly number[];
  readonly dtype?: DType;
}

const arrays = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

/** What a program gives, on both targets. */
function run(of: Program, given: readonly Given[]): readonly (readonly number[])[] {
  const operands = given.map(({ shape, data, dtype = 'float32' }) => ({
    storage: new Storage(dtype, arrays[dtype as keyof typeof arrays].from(data)),
    shape,
  }));
  const results = (['wasm', 'interpreter'] as const).map((target) => {
    const executable = compile(of, { target });
    // Twice, since memory is used again.
    executable.run(operands);
    const outputs = executable.run(operands);
    return outputs.map(({ storage }) => [...(storage.host as Float32Array)]);
  });
  assert.deepEqual(results[0], results[1]);
  return results[0];
}

const range = (length: number, f = (i: number): number => i + 1): readonly number[] =>
  Array.from({ length }, (_, i) => f(i));

const constant = (into: Program, dtype: 'float32' | 'int32', value: number): Value =>
  into.constant({ type: { dtype, shape: [] }, data: arrays[dtype].of(value) });

/** Running sums: rows are the sums before, states a sum and the row before. */
const sums = program([[[3]], [[3]], [[3]]], ([x, total, before]) => [
  mul<Value>(total, before),
  add<Value>(total, x),
  x,
]);

function expectedSums(
  data: readonly number[],
  order: readonly number[],
): readonly (readonly number[])[] {
  const rows = data.map(() => 0);
  let [total, before] = [
    [1, 1, 1],
    [2, 2, 2],
  ];
  for (const t of order) {
    const x = data.slice(3 * t, 3 * t + 3);
    total.forEach((value, k) => (rows[3 * t + k] = value * before[k]));
    total = total.map((value, k) => value + x[k]);
    before = x;
  }
  return [rows, total, before];
}

describe('compiled foreach', () => {
  for (const length of [0, 1, 2, 5]) {
    for (const reverse of [false, true]) {
      it(`carries states over ${length} rows${reverse ? ' in reverse' : ''}`, () => {
        for (const extent of [length, symbol('t')]) {
          const loop = program([[[extent, 3]], [[3]], [[3]]], ([x, a, b]) =>
            foreach<Value>(sums, { data: [x], states: [a, b], captures: [], reverse }),
          );
          const data = range(3 * length);
          const order = range(length, (t) => (reverse ? length - 1 - t : t));
          const found = run(loop, [
            { shape: [length, 3], data },
            { shape: [3], data: [1, 1, 1] },
            { shape: [3], data: [2, 2, 2] },
          ]);
          assert.deepEqual(found, expectedSums(data, order));
        }
      });
    }
  }

  it('iterates over counted rows only, and leaves zeros', () => {
    const loop = program([[[4, 3]], [[3]], [[3]], [[], 'int32']], ([x, a, b, count]) =>
      foreach<Value>(sums, { data: [x], states: [a, b], captures: [], count }),
    );
    const data = range(12);
    for (const count of [0, 1, 3, 4, 9, -1]) {
      const order = range(Math.max(0, Math.min(4, count)), (t) => t);
      const found = run(loop, [
        { shape: [4, 3], data },
        { shape: [3], data: [1, 1, 1] },
        { shape: [3], data: [2, 2, 2] },
        { shape: [], data: [count], dtype: 'int32' },
      ]);
      assert.deepEqual(found, expectedSums(data, order));
    }
  });

  it('lets states change places', () => {
    const body = program([[[]], [[2]], [[2]], [[2]]], ([, a, b, c]) => [b, c, a]);
    const t = symbol('t');
    const loop = program([[[t]], [[2]], [[2]], [[2]]], ([x, a, b, c]) =>
      foreach<Value>(body, { data: [x], states: [a, b, c], captures: [] }),
    );
    const start = [[1, 2], [3, 4], [5, 6]]; // prettier-ignore
    for (const length of [0, 1, 2, 3, 4]) {
      const found = run(loop, [
        { shape: [length], data: range(length) },
        ...start.map((data) => ({ shape: [2], data })),
      ]);
      assert.deepEqual(
        found,
        range(3, (k) => k).map((k) => start[(k + length) % 3]),
      );
    }
  });

  it('gives back a state as a row, twice, and as a view', () => {
    const body = program([[[2]], [[2]]], ([x, s]) => {
      const next = add<Value>(s, x);
      return [s, next, next, x, next];
    });
    const loop = program([[[3, 2]], [[2]]], ([x, s]) =>
      foreach<Value>(body, { data: [x], states: [s], captures: [] }),
    );
    const found = run(loop, [
      { shape: [3, 2], data: range(6) },
      { shape: [2], data: [10, 20] },
    ]);
    const next = [11, 22, 14, 26, 19, 32];
    assert.deepEqual(found, [[10, 20, 11, 22, 14, 26], next, next, range(6), [19, 32]]);
  });

  it('starts from constants and reads captured numbers and matrices', () => {
    const body = program([[[2]], [[2]], [[]], [[2, 2]]], ([x, s, factor, w]) => {
      const next = add<Value>(matmul<Value>(s, transpose<Value>(w)), mul<Value>(x, factor));
      return [tanh<Value>(next), next];
    });
    const loop = program([[[3, 2]], [[2, 2]]], ([x, w], into) => {
      const factor = constant(into, 'float32', 0.5);
      const zeros = mul<Value>(sum<Value>(x, 0), 0);
      return foreach<Value>(body, { data: [x], states: [zeros], captures: [factor, w] });
    });
    const w = [0.5, -0.25, 0.125, 1];
    const [rows, last] = run(loop, [
      { shape: [3, 2], data: range(6) },
      { shape: [2, 2], data: w },
    ]);
    let s = [0, 0];
    const expected: number[] = [];
    for (let t = 0; t < 3; t++) {
      const x = [2 * t + 1, 2 * t + 2];
      s = [0, 1].map((i) => s[0] * w[2 * i] + s[1] * w[2 * i + 1] + x[i] * 0.5);
      expected.push(...s.map(Math.tanh));
    }
    assert.deepEqual(last, s);
    rows.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-6));
  });

  it('nests', () => {
    const inner = program([[[]], [[]], [[]]], ([x, s, c]) => [
      mul<Value>(s, c),
      add<Value>(s, mul<Value>(x, c)),
    ]);
    const outer = program([[[4]], [[]]], ([row, c]) => {
      const [products, total] = foreach<Value>(inner, { data: [row], states: [c], captures: [c] });
      return [products, total, total];
    });
    const loop = program([[[symbol('n'), 4]], [[]]], ([x, c]) =>
      foreach<Value>(outer, { data: [x], states: [c], captures: [] }),
    );
    const found = run(loop, [
      { shape: [3, 4], data: range(12) },
      { shape: [], data: [0.5] },
    ]);
    const [products, totals]: number[][] = [[], []];
    let c = 0.5;
    for (let n = 0; n < 3; n++) {
      let s = c;
      for (let t = 0; t < 4; t++) {
        products.push(Math.fround(s * c));
        s = Math.fround(s + Math.fround((4 * n + t + 1) * c));
      }
      totals.push((c = s));
    }
    assert.deepEqual(found, [products, totals, [c]]);
  });
});

describe('a table that a loop carries', () => {
  const rows = symbol('n');
  const table = (body: Program): Program =>
    program([[[rows, 2]], [[rows], 'int32'], [[8, 2]]], ([x, at, t]) =>
      foreach<Value>(body, { data: [x, at], states: [t], captures: [] }),
    );
  const given = [
    { shape: [3, 2], data: range(6) },
    { shape: [3], data: [5, 0, 5], dtype: 'int32' as const },
    { shape: [8, 2], data: range(16, () => -1) },
  ];
  const written = (): number[] => {
    const expected = range(16, () => -1).slice();
    [5, 0, 5].forEach((row, k) => expected.splice(2 * row, 2, 2 * k + 1, 2 * k + 2));
    return expected;
  };

  it('is written where it lies, a row at a time', () => {
    const body = program([[[2]], [[], 'int32'], [[8, 2]]], ([x, at, t]) => [
      updateSlice<Value>(t, reshape<Value>(x, [1, 2]), at, 0),
    ]);
    const loop = table(body);
    assert.deepEqual(run(loop, given), [written()]);
    const main = compile(loop).toString();
    assert.match(main, /for i in 0\.\.rows/);
    assert.doesNotMatch(main, /let next/, 'the table has two places');
    const [, write] = /kernel k\d+_updateSlice(.*?)\n}/s.exec(main)!;
    assert.equal(write.match(/for /g)!.length, 2, 'only the row is written');
  });

  it('is copied while its old rows are still to be read', () => {
    const body = program([[[2]], [[], 'int32'], [[8, 2]]], ([x, at, t]) => {
      const next = updateSlice<Value>(t, reshape<Value>(x, [1, 2]), at, 0);
      return [sum<Value>(mul<Value>(t, next)), next];
    });
    const [sums, last] = run(table(body), given);
    assert.deepEqual(last, written());
    let old = range(16, () => -1);
    [5, 0, 5].forEach((row, k) => {
      const next = old.slice();
      next.splice(2 * row, 2, 2 * k + 1, 2 * k + 2);
      const expected = old.reduce((total, value, i) => total + value * next[i], 0);
      assert.equal(sums[k], expected);
      old = next;
    });
  });
});

describe('compiled whileLoop', () => {
  const below = program([[[], 'int32'], [[2]]], ([i], into) => [
    less<Value>(i, constant(into, 'int32', 1000)),
  ]);
  const doubled = program([[[], 'int32'], [[2]]], ([i, x], into) => [
    add<Value>(i, constant(into, 'int32', 300)),
    add<Value>(x, x),
  ]);

  it('runs while its condition holds, or up to a limit', () => {
    for (const limit of [null, 0, 2, 4, 9]) {
      const loop = program([[[], 'int32'], [[2]]], ([i, x]) =>
        whileLoop<Value>(below, doubled, { states: [i, x], captures: [], limit }),
      );
      for (const start of [0, 999, 1000]) {
        let [i, n, x] = [start, 0, 1];
        const most = limit ?? Infinity;
        for (; i < 1000 && n < most; n++) [i, x] = [i + 300, 2 * x];
        const found = run(loop, [
          { shape: [], data: [start], dtype: 'int32' },
          { shape: [2], data: [1, 3] },
        ]);
        assert.deepEqual(found, [[i], [x, 3 * x], [n]]);
      }
    }
  });

  it('pads rows with zeros', () => {
    const body = program([[[], 'int32'], [[2]]], ([i, x], into) => [
      x,
      less<Value>(i, constant(into, 'int32', 400)),
      add<Value>(i, constant(into, 'int32', 300)),
      add<Value>(x, x),
    ]);
    const loop = program([[[], 'int32'], [[2]]], ([i, x]) =>
      whileLoop<Value>(below, body, { states: [i, x], captures: [], limit: 6, padded: true }),
    );
    const found = run(loop, [
      { shape: [], data: [0], dtype: 'int32' },
      { shape: [2], data: [1, 3] },
    ]);
    assert.deepEqual(found, [
      [1, 3, 2, 6, 4, 12, 8, 24, 0, 0, 0, 0],
      [1, 1, 0, 0, 0, 0],
      [1200],
      [16, 48],
      [4],
    ]);
  });
});

describe('compiled cond', () => {
  it('runs one branch, also inside of a loop', () => {
    const then = program([[[2]], [[2]]], ([x, s]) => [add<Value>(x, s), x]);
    const otherwise = program([[[2]], [[2]]], ([x, s]) => [s, mul<Value>(x, s)]);
    const body = program([[[2]], [[2]]], ([x, s]) => {
      const isLess = less<Value>(sum<Value>(x), sum<Value>(s));
      const [a, b] = cond<Value>(isLess, then, otherwise, [x, s]);
      return [b, a];
    });
    const loop = program([[[4, 2]], [[2]]], ([x, s]) =>
      foreach<Value>(body, { data: [x], states: [s], captures: [] }),
    );
    const data = [1, 2, 9, 9, 3, -7, 0, 100];
    const found = run(loop, [
      { shape: [4, 2], data },
      { shape: [2], data: [2, 3] },
    ]);
    let s = [2, 3];
    const rows: number[] = [];
    for (let t = 0; t < 4; t++) {
      const x = data.slice(2 * t, 2 * t + 2);
      const isLess = x[0] + x[1] < s[0] + s[1];
      rows.push(...(isLess ? x : x.map((value, k) => value * s[k])));
      s = isLess ? x.map((value, k) => value + s[k]) : s;
    }
    assert.deepEqual(found, [rows, s]);
  });
});

describe('sizes that the data of an iteration decides', () => {
  it('are bound inside of the loop when they have a bound', () => {
    const body = program([[[4]], [[4]]], ([x, s]) => {
      const kept = booleanMask<Value>(x, greater<Value>(x, 0));
      const total = sum<Value>(mul<Value>(kept, kept));
      return [total, add<Value>(s, mul<Value>(total, shapeTotal(kept)))];
    });
    const loop = program([[[symbol('n'), 4]], [[4]]], ([x, s]) =>
      foreach<Value>(body, { data: [x], states: [s], captures: [] }),
    );
    assert.match(compile(loop).toString(), /for i in 0\.\.rows/);
    const data = [1, -2, 7, 4, -1, -1, -1, -1, 2, 2, 2, 2];
    const found = run(loop, [
      { shape: [3, 4], data },
      { shape: [4], data: [0, 1, 2, 3] },
    ]);
    const rows = [0, 1, 2].map((t) => data.slice(4 * t, 4 * t + 4).filter((value) => value > 0));
    const totals = rows.map((row) => row.reduce((a, b) => a + b * b, 0));
    const more = totals.reduce((sum, total, t) => sum + total * rows[t].length, 0);
    assert.deepEqual(found, [totals, [0, 1, 2, 3].map((value) => value + more)]);
  });
});

/** The number of elements of a vector, as a float. */
function shapeTotal(x: Value): Value {
  return cast<Value>(sum<Value>(shapeOf<Value>(x)), 'float32');
}
