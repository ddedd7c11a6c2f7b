import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { DTypeError, GraphError, ShapeError } from '../../../src/base/errors.js';
import type { Value } from '../../../src/ir/program.js';
import { add, mul, reshape, sum, transpose } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { CompileOptions } from '../../../src/runtime/execution/executable.js';
import { elementsOf, floats, operand, programOf } from '../../support/programs.js';

const targets: readonly NonNullable<CompileOptions['target']>[] = ['interpreter', 'wasm'];
const range = (length: number): number[] => Array.from({ length }, (_, i) => i + 1);
const n = symbol('n');
const m = symbol('m');

for (const target of targets) {
  test(`${target}: adds with broadcasting`, () => {
    const program = programOf(
      { x: { dtype: 'float32', shape: [2, 3] }, y: { dtype: 'float32', shape: [3] } },
      ({ x, y }) => ({ z: add(x, y) }),
    );
    const executable = compile(program, { target });
    const [z] = executable.run([floats([2, 3], range(6)), floats([3], [10, 20, 30])]);
    assert.deepEqual(z.shape, [2, 3]);
    assert.deepEqual(elementsOf(z), [11, 22, 33, 14, 25, 36]);
  });

  test(`${target}: sums over every choice of axes, at many sizes`, () => {
    for (const axes of [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2], []]) {
      const program = programOf({ x: { dtype: 'float32', shape: [n, m, 3] } }, ({ x }) => ({
        z: sum(x, axes),
        kept: sum(x, axes, { keepdims: true }),
      }));
      const executable = compile(program, { target });
      for (const [rows, columns] of [
        [0, 0],
        [1, 1],
        [2, 5],
        [7, 9],
        [3, 37],
        [40, 1],
        [0, 4],
        [4, 0],
      ]) {
        const shape = [rows, columns, 3];
        const elements = range(rows * columns * 3);
        const [z, kept] = executable.run([floats(shape, elements)]);
        const keptShape = shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));
        assert.deepEqual(
          z.shape,
          shape.filter((_, axis) => !axes.includes(axis)),
        );
        assert.deepEqual(kept.shape, keptShape);
        const expected = range(keptShape.reduce((a, b) => a * b, 1)).fill(0);
        elements.forEach((element, i) => {
          const index = [Math.floor(i / 3 / columns), Math.floor(i / 3) % columns, i % 3];
          const at = index.map((part, axis) => (axes.includes(axis) ? 0 : part));
          expected[(at[0] * keptShape[1] + at[1]) * keptShape[2] + at[2]] += element;
        });
        assert.deepEqual(elementsOf(z), expected, `axes ${axes.join()} of ${shape.join()}`);
        assert.deepEqual(elementsOf(kept), expected);
      }
    }
  });

  test(`${target}: views, transposition and passed-through values`, () => {
    const program = programOf(
      { x: { dtype: 'float32', shape: [n, 2] }, unused: { dtype: 'int32', shape: [] } },
      ({ x }, p) => {
        const constant = p.constant({
          type: { dtype: 'float32', shape: [2] },
          data: new Float32Array([100, 200]),
        });
        const y = transpose(add(x, constant));
        return { y, again: y, flat: reshape(y, [-1]), x, flatX: reshape(x, [-1]), constant };
      },
    );
    const executable = compile(program, { target });
    for (const rows of [0, 1, 3]) {
      const elements = range(2 * rows);
      const results = executable.run([floats([rows, 2], elements), operand('int32', [], [7])]);
      const even = elements.filter((_, i) => i % 2 === 0).map((element) => element + 100);
      const odd = elements.filter((_, i) => i % 2 === 1).map((element) => element + 200);
      const [y, again, flat, x, flatX, constant] = results.map(elementsOf);
      assert.deepEqual(y, [...even, ...odd]);
      assert.deepEqual(again, y);
      assert.deepEqual(flat, y);
      assert.deepEqual(x, elements);
      assert.deepEqual(flatX, elements);
      assert.deepEqual(constant, [100, 200]);
      assert.deepEqual(
        results.map(({ shape }) => shape),
        [[2, rows], [2, rows], [2 * rows], [rows, 2], [2 * rows], [2]],
      );
      assert.equal(new Set(results.map(({ storage }) => storage.host)).size, results.length);
    }
  });
}

test('operands that do not fit are refused by name', () => {
  const program = programOf(
    { x: { dtype: 'float32', shape: [n, 2] }, y: { dtype: 'float32', shape: [n, 2] } },
    ({ x, y }) => ({ z: add(x, y) }),
  );
  const executable = compile(program, { target: 'interpreter' });
  const good = floats([1, 2], [1, 2]);
  assert.throws(() => executable.run([good]), GraphError);
  assert.throws(
    () => executable.run([good, floats([2, 2], range(4))]),
    (error) => error instanceof ShapeError && /input y/.test(error.message),
  );
  assert.throws(
    () => executable.run([operand('int32', [1, 2], [1, 2]), good]),
    (error) => error instanceof DTypeError && /input x/.test(error.message),
  );
  assert.deepEqual(elementsOf(executable.run([good, good])[0]), [2, 4]);
});

test('what depends on constants only is computed once, by the compiler', () => {
  const program = programOf({ x: { dtype: 'float32', shape: [2] } }, ({ x }, p) => {
    const constant = (...data: number[]): Value =>
      p.constant({ type: { dtype: 'float32', shape: [2] }, data: new Float32Array(data) });
    const folded = mul(constant(1, 2), constant(10, 100));
    return { y: add(x, folded), folded, total: sum(folded) };
  });
  const executable = compile(program);
  const [y, folded, total] = executable.run([floats([2], [1, 1])]);
  assert.deepEqual(elementsOf(y), [11, 201]);
  assert.deepEqual(elementsOf(folded), [10, 200]);
  assert.deepEqual(elementsOf(total), [210]);
  assert.doesNotMatch(executable.toString(), /mul|sum/);
});

test('numbers beside arrays become part of the code, whatever their kind', () => {
  const program = programOf(
    { x: { dtype: 'int64', shape: [n] }, h: { dtype: 'float16', shape: [n] } },
    ({ x, h }) => ({ y: add(x, 2n ** 40n), z: add(h, 0.1) }),
  );
  for (const target of targets) {
    const executable = compile(program, { target });
    assert.doesNotMatch(executable.toString(), /constant/);
    const [y, z] = executable.run([
      operand('int64', [2], [1n, -1n]),
      operand('float16', [2], [1, 2]),
    ]);
    assert.deepEqual(elementsOf(y), [2n ** 40n + 1n, 2n ** 40n - 1n]);
    // 0.1 is 1638.4 * 2^-14: the nearest half is 1638 * 2^-14; sums are rounded to 2^-10 and 2^-9.
    const tenth = 1638 / 2 ** 14;
    const rounded = [
      [1, 2 ** 10],
      [2, 2 ** 9],
    ].map(([h, scale]) => Math.round((h + tenth) * scale) / scale);
    assert.deepEqual(elementsOf(z), rounded);
  }
});
