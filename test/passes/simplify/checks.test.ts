import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { add, booleanMask, cond, cumsum, reshape, take } from '../../../src/ops/index.js';
import { checksOf, mayCheck } from '../../../src/passes/simplify/checks.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import { operand, programOf } from '../../support/programs.js';

const table = { dtype: 'float32', shape: [9] } as const;
const places = { dtype: 'int64', shape: [2] } as const;

/** A program that takes elements of a table at places that are made of an input. */
const taking = (build: (at: Value) => readonly Value[]): Program =>
  programOf({ x: table, at: places }, ({ x, at }) =>
    Object.fromEntries(build(at).map((each, k) => [`y${k}`, take(x, each)])),
  );

describe('checks before a program runs', () => {
  it('are none without an operator that refuses elements', () => {
    const program = programOf({ x: table }, ({ x }) => ({ y: add(x, 1) }));
    assert.equal(mayCheck(program), false);
    assert.equal(checksOf(program), null);
    assert.equal(mayCheck(taking((at) => [at])), true);
  });

  it('are of inputs, also of those in another shape', () => {
    const { checked, probe, early } = checksOf(taking((at) => [at, reshape(at, [2, 1])]))!;
    assert.deepEqual(
      checked.map(({ source }) => source),
      [{ input: 1 }, { input: 1 }],
    );
    assert.equal(probe, null);
    assert.equal(early.size, 2);
  });

  it('are of what is cheaply computed of inputs, once for all that read it', () => {
    const { checked, probe, early } = checksOf(
      taking((at) => {
        const next = add(at, 1);
        return [next, reshape(next, [1, 2]), add(next, at)];
      }),
    )!;
    assert.deepEqual(
      checked.map(({ source }) => source),
      [{ output: 0 }, { output: 0 }, { output: 1 }],
    );
    assert.equal(early.size, 3);
    const found = compile(probe!).run([
      operand(
        'float32',
        [9],
        Array.from({ length: 9 }, () => 0),
      ),
      operand('int64', [2], [3n, 5n]),
    ]);
    assert.deepEqual(found.map(numbersOf), [
      [4, 6],
      [7, 11],
    ]);
  });

  it('are not of what costs more, of data-dependent sizes, and of what stands in a branch', () => {
    const costly = checksOf(taking((at) => [cumsum(at, 0), add(cumsum(at, 0), 1), at]))!;
    assert.deepEqual(
      costly.checked.map(({ source }) => source),
      [{ input: 1 }],
    );
    assert.equal(costly.early.size, 1);
    assert.equal(costly.probe, null);
    const n = symbol('n');
    const sized = programOf(
      { x: table, at: { dtype: 'int64', shape: [n] }, mask: { dtype: 'bool', shape: [n] } },
      ({ x, at, mask }) => ({ y: take(x, booleanMask<Value>(at, mask)), z: take(x, at) }),
    );
    assert.deepEqual(
      checksOf(sized)!.checked.map(({ source }) => source),
      [{ input: 1 }],
    );
    const branch = taking((at) => [at]);
    const other = programOf({ x: table, at: places }, ({ x, at }) => ({
      y: take(x, at, { mode: 'clip' }),
    }));
    const inside = programOf(
      { x: table, at: places, flag: { dtype: 'bool', shape: [] } },
      ({ x, at, flag }) => ({ y: cond<Value>(flag, branch, other, [x, at])[0] }),
    );
    assert.equal(mayCheck(inside), true);
    assert.deepEqual(checksOf(inside)!.checked, []);
  });
});
