import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ShapeError } from '../../../src/base/errors.js';
import { Program } from '../../../src/ir/program.js';
import { dimLike, eye, fill, fullLike, iota, onesLike, zerosLike } from '../../../src/ops/index.js';
import type { Declaration } from '../../../src/ops/declare/declare.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate } from '../../support/evaluate.js';
import { elementsOf, floats } from '../../support/programs.js';

/** Runs an operator without operands in a program whose input binds `n`. */
function make(
  { declaration }: { readonly declaration: Declaration },
  attributes: Readonly<Record<string, unknown>>,
  n = 0,
): Operand {
  const program = new Program();
  program.variable('x', { dtype: 'float32', shape: [symbol('n')] });
  const [value] = program.append(declaration, [], attributes);
  program.setOutputs([{ name: 'y', value }]);
  return compile(program).run([
    floats(
      [n],
      Array.from({ length: n }, () => 0),
    ),
  ])[0];
}

test('fill takes any shape, value and dtype', () => {
  const n = symbol('n');
  assert.deepEqual(numbersOf(make(fill, { shape: [2, n], value: 2.5, dtype: 'float16' }, 3)), [2.5, 2.5, 2.5, 2.5, 2.5, 2.5]); // prettier-ignore
  assert.deepEqual(make(fill, { shape: [2, n], value: 1, dtype: 'bool' }, 0).shape, [2, 0]);
  assert.deepEqual(elementsOf(make(fill, { shape: [1], value: -2.9, dtype: 'int64' })), [-2n]);
  assert.deepEqual(elementsOf(make(fill, { shape: [1], value: 0.5, dtype: 'bool' })), [true]);
  assert.deepEqual(elementsOf(make(fill, { shape: [], value: -Infinity, dtype: 'float64' })), [-Infinity]); // prettier-ignore
  assert.throws(() => make(fill, { shape: [-1], value: 0, dtype: 'float32' }), ShapeError);
});

test('iota works every element out from its position', () => {
  const run = (length: number, start: number, step: number, dtype: string): unknown[] =>
    elementsOf(make(iota, { length, start, step, dtype }));
  assert.deepEqual(run(4, 0, 1, 'float32'), [0, 1, 2, 3]);
  assert.deepEqual(run(0, 0, 1, 'int32'), []);
  assert.deepEqual(run(3, 5, -5, 'int64'), [5n, 0n, -5n]);
  assert.deepEqual(run(3, 2 ** 52, 2 ** 51, 'int64'), [2n ** 52n, 3n * 2n ** 51n, 2n ** 53n]);
  assert.deepEqual(run(3, 0.1, 0.1, 'float64'), [0.1, 0.2, 2 * 0.1 + 0.1]);
  assert.deepEqual(run(4, 0, 0.5, 'int32'), [0, 0, 1, 1]);
  const long = run(100_001, 0, 0.1, 'float32');
  assert.equal(long[100_000], Math.fround(0.1 * 100_000));
});

test('eye has ones on one diagonal', () => {
  const rows = (k: number): number[] =>
    numbersOf(make(eye, { rows: 2, columns: 3, k, dtype: 'int32' }));
  assert.deepEqual(rows(0), [1, 0, 0, 0, 1, 0]);
  assert.deepEqual(rows(1), [0, 1, 0, 0, 0, 1]);
  assert.deepEqual(rows(-1), [0, 0, 0, 1, 0, 0]);
  for (const k of [7, 2 ** 31, -(2 ** 32), 2 ** 32 + 1])
    assert.deepEqual(rows(k), [0, 0, 0, 0, 0, 0]);
});

test('the like of an array takes its shape and dtype, unless told', () => {
  const x = floats([2, 1], [3, NaN]);
  const [ones] = evaluate([x], (v) => onesLike(v));
  assert.deepEqual([ones.shape, ones.storage.dtype, numbersOf(ones)], [[2, 1], 'float32', [1, 1]]);
  const [zeros] = evaluate([x], (v) => zerosLike(v, { dtype: 'int64', shape: [3] }));
  assert.deepEqual(elementsOf(zeros), [0n, 0n, 0n]);
  const [full] = evaluate([x], (v) => fullLike(v, -7, { dtype: 'int8' }));
  assert.deepEqual(numbersOf(full), [-7, -7]);
  const [size] = evaluate([x], (v) => dimLike(v, 12, { dtype: 'int32' }));
  assert.deepEqual([size.shape, numbersOf(size)], [[], [12]]);
});
