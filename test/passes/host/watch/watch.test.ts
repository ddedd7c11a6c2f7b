import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Program, Value } from '../../../../src/ir/program.js';
import { verify } from '../../../../src/ir/verify.js';
import {
  add,
  argmax,
  cond,
  foreach,
  greater,
  less,
  mul,
  sum,
  take,
  whileLoop,
} from '../../../../src/ops/index.js';
import {
  earliestReport,
  firstReport,
  firstReported,
  presenceReport,
} from '../../../../src/passes/host/watch/report.js';
import { watching } from '../../../../src/passes/host/watch/watch.js';
import { compile } from '../../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../../support/arrays.js';
import { floats, operand, programOf } from '../../../support/programs.js';

const table = { dtype: 'float32', shape: [5] } as const;
const scalar = { dtype: 'int64', shape: [] } as const;
const flag = { dtype: 'bool', shape: [] } as const;
const row = { dtype: 'int64', shape: [3] } as const;

const x = floats([5], [10, 11, 12, 13, 14]);
const ints = (list: readonly number[], shape: readonly number[] = [list.length]): Operand =>
  operand('int64', shape, list.map(BigInt));

/** Rows of sums of what is taken from a table at rows of places. */
const body = programOf(
  { at: row, total: { dtype: 'float32', shape: [] }, x: table },
  ({ at, total, x }) => {
    const found = sum(take(x, at));
    return { found, total: add(total, found) };
  },
);

function looped(count: number): Program {
  return programOf({ x: table, at: { dtype: 'int64', shape: [count, 3] } }, ({ x, at }) => {
    const [rows, total] = foreach<Value>(body, {
      data: [at],
      states: [
        x.program.constant({ type: { dtype: 'float32', shape: [] }, data: new Float32Array(1) }),
      ],
      captures: [x],
    });
    return { rows, total };
  });
}

/** What a program tells: whether there is anything, and of the first its place, itself, its bound and its iterations. */
function told(program: Program, operands: readonly Operand[]) {
  const own = program.outputs.length;
  const presence = watching(program, presenceReport)!;
  verify(presence.program);
  const present = compile(presence.program)
    .run(operands)
    .slice(own)
    .map((each) => numbersOf(each)[0] === 1);
  const first = watching(program, firstReport)!;
  verify(first.program);
  const results = compile(first.program).run(operands);
  const reports = results.slice(own).map(({ storage }) => storage.host);
  assert.equal(reports.length, first.watched.length);
  assert.deepEqual(
    reports.map((report) => Number(report[0]) > 0),
    present,
  );
  const earliest = earliestReport(first.watched, reports);
  const at = earliest < 0 ? null : firstReported(first.watched[earliest], reports[earliest]);
  return { results: results.slice(0, own).map(numbersOf), which: earliest, at };
}

describe('a program that tells of elements it refuses', () => {
  it('is none where nothing refuses, and where elements are indices by themselves', () => {
    const plain = programOf({ x: table }, ({ x }) => ({ y: add(x, 1) }));
    const found = programOf({ x: table }, ({ x }) => ({ y: take(x, argmax(x)) }));
    for (const report of [presenceReport, firstReport]) {
      assert.equal(watching(plain, report), null);
      assert.equal(watching(found, report), null);
    }
    // Indices of a longer array are none.
    const longer = programOf({ x: table, y: { dtype: 'float32', shape: [6] } }, ({ x, y }) => ({
      z: take(x, argmax(y)),
    }));
    assert.equal(watching(longer, presenceReport)!.watched.length, 1);
  });

  it('watches only the calls that are asked for', () => {
    const program = programOf({ x: table, at: row }, ({ x, at }) => ({
      y: take(x, at),
      z: take(x, add(at, 1)),
    }));
    const [first] = [...program.graph.nodes()].filter((id) => program.node(id).kind === 'call');
    assert.equal(watching(program, presenceReport, (id) => id === first)!.watched.length, 1);
    assert.equal(
      watching(program, presenceReport, () => false),
      null,
    );
  });

  it('tells of the first of them, by place and value', () => {
    const program = programOf({ x: table, at: row }, ({ x, at }) => ({
      y: take(x, at),
      z: take(x, mul(at, 2)),
    }));
    assert.deepEqual(told(program, [x, ints([0, 2, 1])]), {
      results: [
        [10, 12, 11],
        [10, 14, 12],
      ],
      which: -1,
      at: null,
    });
    const second = told(program, [x, ints([0, 4, 3])]);
    assert.equal(second.which, 1);
    assert.deepEqual(second.at, {
      refused: { element: 8, at: 1, shape: [3], most: 4 },
      iterations: [],
    });
    const both = told(program, [x, ints([-6, 7, 1])]);
    assert.equal(both.which, 0);
    assert.deepEqual(both.at, {
      refused: { element: -6, at: 0, shape: [3], most: 4 },
      iterations: [],
    });
    assert.equal(told(program, [x, ints([1, 0, 7])]).at!.refused.at, 2);
  });

  it('counts the iterations of a loop, and computes what it did', () => {
    const good = told(looped(4), [x, ints([0, 1, 2, 4, 4, 4, 1, 1, 1, -1, -2, -3], [4, 3])]);
    assert.deepEqual(good, { results: [[33, 42, 33, 39], [147]], which: -1, at: null });
    const bad = told(looped(4), [x, ints([0, 1, 2, 4, 4, 4, 1, 9, 7, 8, 1, 1], [4, 3])]);
    assert.deepEqual(bad.at, {
      refused: { element: 9, at: 1, shape: [3], most: 4 },
      iterations: [2],
    });
    assert.equal(told(looped(0), [x, ints([], [0, 3])]).at, null);
  });

  it('counts the iterations of a loop in a loop, from the inside', () => {
    const inner = looped(2);
    const step = programOf({ at: { dtype: 'int64', shape: [2, 3] }, x: table }, ({ at, x }) => {
      const [rows] = foreach<Value>(body, { data: [at], states: [sum(x)], captures: [x] });
      return { rows };
    });
    assert.equal(inner.outputs.length, 2);
    const program = programOf(
      { x: table, at: { dtype: 'int64', shape: [3, 2, 3] } },
      ({ x, at }) => {
        const [rows] = foreach<Value>(step, { data: [at], states: [], captures: [x] });
        return { rows };
      },
    );
    const places = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (const at of [0, 5, 8, 9, 17]) {
      const list = places.with(at, 5);
      // Later ones do not matter.
      if (at < 16) list[17] = 6;
      assert.deepEqual(told(program, [x, ints(list, [3, 2, 3])]).at, {
        refused: { element: 5, at: at % 3, shape: [3], most: 4 },
        iterations: [Math.floor(at / 3) % 2, Math.floor(at / 6)],
      });
    }
  });

  it('tells of two calls in a loop the one of the earlier iteration', () => {
    const twice = programOf({ at: row, x: table }, ({ at, x }) => ({
      y: take(x, at),
      z: take(x, add(at, 1)),
    }));
    const program = programOf({ x: table, at: { dtype: 'int64', shape: [2, 3] } }, ({ x, at }) => {
      const [y, z] = foreach<Value>(twice, { data: [at], states: [], captures: [x] });
      return { y, z };
    });
    const { which, at } = told(program, [x, ints([0, 4, 0, 5, 0, 0], [2, 3])]);
    assert.equal(which, 1);
    assert.deepEqual(at, { refused: { element: 5, at: 1, shape: [3], most: 4 }, iterations: [0] });
    assert.equal(told(program, [x, ints([0, 3, 0, 5, 0, 0], [2, 3])]).which, 0);
  });

  it('tells of the branch that is taken', () => {
    const way = (by: number): Program =>
      programOf({ x: table, at: row }, ({ x, at }) => ({ y: take(x, add(at, by)) }));
    const program = programOf({ x: table, at: row, which: flag }, ({ x, at, which }) => ({
      y: cond<Value>(which, way(0), way(2), [x, at])[0],
    }));
    const run = (which: boolean, at: readonly number[]) =>
      told(program, [x, ints(at), operand('bool', [], [which])]);
    assert.deepEqual(run(true, [3, 4, 0]), { results: [[13, 14, 10]], which: -1, at: null });
    assert.equal(run(false, [3, 4, 0]).which, 1);
    assert.equal(run(false, [3, 4, 0]).at!.refused.element, 5);
    assert.equal(run(true, [3, 5, 0]).which, 0);
    assert.deepEqual(run(false, [0, 1, 2]).results, [[12, 13, 14]]);
  });

  it('ends a whileLoop that would go on with what is refused', () => {
    const goesOn = programOf(
      { i: scalar, sum: { dtype: 'float32', shape: [] }, x: table, n: scalar },
      ({ i, n }) => ({ y: less(i, n) }),
    );
    const step = programOf(
      { i: scalar, sum: { dtype: 'float32', shape: [] }, x: table, n: scalar },
      ({ i, sum, x }) => ({ i: add(i, 1), sum: add(sum, take(x, i)) }),
    );
    const program = programOf({ x: table, n: scalar }, ({ x, n }) => {
      const zero = (dtype: 'int64' | 'float32'): Value =>
        x.program.constant({
          type: { dtype, shape: [] },
          data: dtype === 'int64' ? new BigInt64Array(1) : new Float32Array(1),
        });
      const [i, total, count] = whileLoop<Value>(goesOn, step, {
        states: [zero('int64'), zero('float32')],
        captures: [x, n],
      });
      return { i, total, count };
    });
    assert.deepEqual(told(program, [x, ints([3], [])]), {
      results: [[3], [33], [3]],
      which: -1,
      at: null,
    });
    assert.deepEqual(told(program, [x, ints([0], [])]).at, null);
    const { at, results } = told(program, [x, ints([1_000_000_000], [])]);
    assert.deepEqual(at, { refused: { element: 5, at: 0, shape: [], most: 4 }, iterations: [5] });
    assert.deepEqual(results[2], [6], 'not a billion iterations');
  });

  it('does not start a whileLoop behind what is refused', () => {
    const goesOn = programOf(
      { sum: { dtype: 'float32', shape: [] }, most: { dtype: 'float32', shape: [] } },
      ({ sum, most }) => ({ y: greater(most, sum) }),
    );
    const step = programOf(
      { sum: { dtype: 'float32', shape: [] }, most: { dtype: 'float32', shape: [] } },
      ({ sum }) => ({ sum: add(sum, 1) }),
    );
    const program = programOf({ x: table, at: scalar }, ({ x, at }) => {
      const most = take(x, at);
      const start = x.program.constant({
        type: { dtype: 'float32', shape: [] },
        data: new Float32Array(1),
      });
      const [total, count] = whileLoop<Value>(goesOn, step, { states: [start], captures: [most] });
      return { total, count };
    });
    assert.deepEqual(told(program, [x, ints([2], [])]).results, [[12], [12]]);
    const { at, results } = told(program, [x, ints([7], [])]);
    assert.equal(at!.refused.element, 7);
    assert.deepEqual(results[1], [0]);
  });
});
