import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import {
  add, avgPool, avgPool2d, maxPool, maxPool1d, maxPool2d, slidingWindows, slidingWindowsAdjoint,
} from '../../../src/ops/index.js'; // prettier-ignore
import { gradient } from '../../../src/passes/gradient/gradient.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import {
  indicesOf, numbersOf, positionOf, randomOperand, sizeOf,
} from '../../support/arrays.js'; // prettier-ignore
import { assertClose } from '../../support/close.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

interface Pool {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly padding: readonly (readonly [number, number])[];
  readonly dilation: readonly number[];
  readonly ceilMode: boolean;
}

function places(size: readonly number[], pool: Pool): number[] {
  return size.map((extent, axis) => {
    const [before, after] = pool.padding[axis];
    const stride = pool.strides[axis];
    const slack = extent + before + after - (pool.dilation[axis] * (pool.kernel[axis] - 1) + 1);
    if (!pool.ceilMode) return Math.floor(slack / stride) + 1;
    const count = Math.ceil(slack / stride) + 1;
    // A window must begin inside the input or the padding before it.
    return (count - 1) * stride >= extent + before ? count - 1 : count;
  });
}

/** The elements of each window, null where it hangs over the input. */
function windowsOf(x: Operand, pool: Pool): { shape: number[]; windows: (number | null)[][] } {
  const data = numbersOf(x);
  const size = x.shape.slice(2);
  const shape = [...x.shape.slice(0, 2), ...places(size, pool)];
  const windows = indicesOf(shape).map(([n, c, ...q]) =>
    indicesOf(pool.kernel).map((r) => {
      const at = q.map(
        (place, axis) =>
          place * pool.strides[axis] + r[axis] * pool.dilation[axis] - pool.padding[axis][0],
      );
      const isInside = at.every((place, axis) => place >= 0 && place < size[axis]);
      return isInside ? data[positionOf([n, c, ...at], x.shape)] : null;
    }),
  );
  return { shape, windows };
}

function randomPool(random: () => number, axes: number): { size: number[]; pool: Pool } {
  const each = (low: number, high: number): number[] =>
    Array.from({ length: axes }, () => low + Math.floor(random() * (high - low + 1)));
  const kernel = each(1, 3);
  const dilation = each(1, 2);
  const padding = kernel.map((extent): [number, number] => {
    const most = Math.floor(extent / 2);
    return [Math.floor(random() * (most + 1)), Math.floor(random() * (most + 1))];
  });
  const size = kernel.map(
    (extent, axis) => (extent - 1) * dilation[axis] + 1 + Math.floor(random() * 4),
  );
  const pool = { kernel, strides: each(1, 3), padding, dilation, ceilMode: random() < 0.5 };
  return { size, pool };
}

for (const axes of [1, 2, 3]) {
  test(`pools over ${axes} axes are what loops over windows give`, () => {
    const random = generator(axes + 20);
    for (let trial = 0; trial < 15; trial++) {
      const { size, pool } = randomPool(random, axes);
      const x = randomOperand(random, [trial % 3, 2, ...size]);
      const { kernel, ...options } = pool;
      const { shape, windows } = windowsOf(x, pool);
      const [greatest] = evaluate([x], (value) => maxPool(value, kernel, options));
      assert.deepEqual(greatest.shape, shape);
      const most = windows.map((window) =>
        Math.max(...window.map((element) => element ?? -Infinity)),
      );
      assertClose(numbersOf(greatest), most, 0);
    }
  });

  test(`means over ${axes} axes count what they are told to`, () => {
    const random = generator(axes + 30);
    for (let trial = 0; trial < 15; trial++) {
      const { size, pool: drawn } = randomPool(random, axes);
      const pool = { ...drawn, dilation: drawn.dilation.map(() => 1) };
      const x = randomOperand(random, [1, 2, ...size]);
      const countIncludePad = trial % 2 === 0;
      const { kernel, dilation: _dilation, ...options } = pool;
      const { shape, windows } = windowsOf(x, pool);
      const [mean] = evaluate([x], (value) =>
        avgPool(value, kernel, { ...options, countIncludePad }),
      );
      assert.deepEqual(mean.shape, shape);
      const counts = indicesOf(shape).map(([, , ...q]) =>
        q
          .map((place, axis) => {
            const [before, after] = countIncludePad ? pool.padding[axis] : [0, 0];
            const begin = place * pool.strides[axis] - pool.padding[axis][0];
            const end = Math.min(begin + kernel[axis], size[axis] + after);
            return end - Math.max(begin, -before);
          })
          .reduce((a, b) => a * b, 1),
      );
      const expected = windows.map(
        (window, at) =>
          window.reduce<number>((sum, element) => sum + (element ?? 0), 0) / counts[at],
      );
      assertClose(numbersOf(mean), expected, 1e-12);
    }
  });
}

function gradientOf(build: (x: Value) => Value, x: Operand, head: Operand): number[] {
  const [slope] = evaluate([x, head], (value, grad) => {
    const [found] = gradient<Value>({
      program: value.program,
      outputs: [{ value: build(value), grad }],
      wrt: [value],
      valueOf: (each) => each,
      add: (a, b) => add(a, b),
    });
    return found!;
  });
  return numbersOf(slope);
}

test('the gradient of a maximum goes to the first of equals, and padding gets none', () => {
  const x = operand('float64', [1, 1, 4], [1, 1, 0, 0]);
  const head = operand('float64', [1, 1, 2], [3, 5]);
  assert.deepEqual(
    gradientOf((value) => maxPool1d(value, 2), x, head),
    [3, 0, 5, 0],
  );
  const low = operand('float64', [1, 1, 2, 2], [-4, -3, -2, -1]);
  const ones = operand('float64', [1, 1, 2, 2], [1, 2, 4, 8]);
  const padded = (value: Value): Value => maxPool2d(value, 2, { strides: 2, padding: 1 });
  assert.deepEqual(gradientOf(padded, low, ones), [1, 2, 4, 8]);
});

test('integers are pooled by their own lowest value', () => {
  const x = operand('int8', [1, 1, 3], [-128, -128, -5]);
  const [result] = evaluate([x], (value) => maxPool1d(value, 2, { strides: 1, padding: 1 }));
  assert.equal(result.storage.dtype, 'int8');
  assert.deepEqual(numbersOf(result), [-128, -128, -5, -5]);
});

test('windows may be consumed directly, and their adjoint adds up overlaps', () => {
  const x = operand('float64', [5], [1, 2, 3, 4, 5]);
  const [windows] = evaluate([x], (value) => slidingWindows(value, [3]));
  assert.deepEqual(windows.shape, [3, 3]);
  assert.deepEqual(numbersOf(windows), [1, 2, 3, 2, 3, 4, 3, 4, 5]);
  const [counts] = evaluate(
    [
      operand(
        'float64',
        [3, 3],
        Array.from({ length: 9 }, () => 1),
      ),
    ],
    (value) =>
      slidingWindowsAdjoint(value, [5], {
        kernel: [3],
        strides: [1],
        padding: [[0, 0]],
        dilation: [1],
      }),
  );
  assert.deepEqual(numbersOf(counts), [1, 2, 3, 2, 1]);
  assert.equal(sizeOf(counts.shape), 5);
});

test('pools refuse what they cannot slide over', () => {
  const x = operand('float64', [1, 1, 3], [1, 2, 3]);
  const refuse = (build: (value: Value) => Value, expected: object): void =>
    assert.throws(() => evaluate([x], build), expected);
  refuse((value) => maxPool(value, 4), { name: 'ShapeError', expected: /at least 4/ });
  refuse((value) => avgPool2d(value, 2), { name: 'ShapeError', op: 'avgPool2d' });
  refuse((value) => maxPool(value, 0), { name: 'ArgumentError', expected: /at least 1/ });
  refuse((value) => maxPool(value, 2, { padding: [1, 1] }), { name: 'ArgumentError' });
});
