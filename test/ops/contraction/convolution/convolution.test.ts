import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../../src/base/errors.js';
import type { DType } from '../../../../src/base/dtype.js';
import { Program } from '../../../../src/ir/program.js';
import {
  conv, conv1d, conv2d, type ConvOptions, convTranspose, convTranspose2d, convWeightGradient,
} from '../../../../src/ops/index.js'; // prettier-ignore
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import {
  indicesOf, numbersOf, positionOf, randomOperand, sizeOf,
} from '../../../support/arrays.js'; // prettier-ignore
import { assertClose } from '../../../support/close.js';
import { evaluate } from '../../../support/evaluate.js';
import { generator } from '../../../support/samples.js';

interface Geometry {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly y: readonly number[];
  readonly strides: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly (readonly [number, number])[];
  readonly groups: number;
}

/** Every (input, weight, output) triple that a convolution multiplies, by definition. */
function forEachTriple(geometry: Geometry, visit: (x: number, w: number, y: number) => void): void {
  const { x, w, y, strides, dilation, padding, groups } = geometry;
  const [channels, outputs] = [w[1], w[0] / groups];
  for (const index of indicesOf(y)) {
    const [n, o, ...q] = index;
    for (const [c, ...r] of indicesOf(w.slice(1))) {
      const at = q.map(
        (place, axis) => place * strides[axis] + r[axis] * dilation[axis] - padding[axis][0],
      );
      if (at.some((place, axis) => place < 0 || place >= x[axis + 2])) continue;
      const channel = Math.floor(o / outputs) * channels + c;
      visit(positionOf([n, channel, ...at], x), positionOf([o, c, ...r], w), positionOf(index, y));
    }
  }
}

function randomGeometry(random: () => number, axes: number): Geometry {
  const whole = (low: number, high: number): number =>
    low + Math.floor(random() * (high - low + 1));
  const each = (low: number, high: number): number[] =>
    Array.from({ length: axes }, () => whole(low, high));
  const groups = whole(1, 3);
  const [channels, outputs] = [whole(1, 3), whole(1, 3)];
  const [strides, dilation, kernel] = [each(1, 3), each(1, 2), each(1, 3)];
  const padding = each(0, 2).map((before): [number, number] => [before, whole(0, 2)]);
  const span = kernel.map((extent, axis) => (extent - 1) * dilation[axis] + 1);
  const size = span.map((extent, axis) =>
    Math.max(0, extent - padding[axis][0] - padding[axis][1] + whole(0, axes === 1 ? 9 : 4)),
  );
  const count = size.map(
    (extent, axis) =>
      Math.floor((extent + padding[axis][0] + padding[axis][1] - span[axis]) / strides[axis]) + 1,
  );
  const images = whole(0, 2);
  return {
    x: [images, groups * channels, ...size],
    w: [groups * outputs, channels, ...kernel],
    y: [images, groups * outputs, ...count],
    strides,
    dilation,
    padding,
    groups,
  };
}

for (const axes of [1, 2, 3]) {
  test(`convolution over ${axes} axes and both its adjoints are the sums of the definition`, () => {
    const random = generator(axes);
    for (let trial = 0; trial < (axes === 3 ? 12 : 25); trial++) {
      const geometry = randomGeometry(random, axes);
      const dtype: DType = trial % 4 === 3 ? 'float32' : trial % 4 === 2 ? 'int32' : 'float64';
      const { strides, dilation, padding, groups } = geometry;
      const options: ConvOptions = { strides, dilation, padding, groups };
      const arrays = [geometry.x, geometry.w, geometry.y].map((shape) =>
        randomOperand(random, shape, dtype),
      );
      const [x, w, y] = arrays.map(numbersOf);
      const [toX, toW, toY] = arrays.map(({ shape }) =>
        Array.from({ length: sizeOf(shape) }, () => 0),
      );
      forEachTriple(geometry, (i, j, k) => {
        toY[k] += x[i] * w[j];
        toX[i] += y[k] * w[j];
        toW[j] += y[k] * x[i];
      });
      const results = evaluate(arrays, (a, b, c) => [
        conv(a, b, options),
        convTranspose(c, b, { ...options, size: geometry.x.slice(2) }),
        convWeightGradient(a, c, { ...options, kernel: geometry.w.slice(2) }),
      ]);
      const tolerance = dtype === 'float32' ? 1e-4 : 1e-10;
      [toY, toX, toW].forEach((expected, i) => {
        assert.deepEqual(results[i].shape, [geometry.y, geometry.x, geometry.w][i]);
        assertClose(numbersOf(results[i]), expected, tolerance);
      });
    }
  });
}

function shapeOf(
  build: (program: Program) => { readonly type: { readonly shape: unknown } },
): string {
  return String(build(new Program()).type.shape);
}

test('padding may be a number, numbers, pairs, valid or same', () => {
  const random = generator(9);
  const x = randomOperand(random, [1, 1, 5, 6]);
  const w = randomOperand(random, [1, 1, 3, 2]);
  const run = (padding: ConvOptions['padding'], strides = 1): Operand =>
    evaluate([x, w], (a, b) => conv2d(a, b, { padding: padding!, strides }))[0];
  assert.deepEqual(run('valid').shape, [1, 1, 3, 5]);
  assert.deepEqual(run(1).shape, [1, 1, 5, 7]);
  assert.deepEqual(run([0, 1]).shape, [1, 1, 3, 7]);
  assert.deepEqual(run([[1, 1], [0, 2]]).shape, [1, 1, 5, 7]); // prettier-ignore
  assert.deepEqual(run('same').shape, [1, 1, 5, 6]);
  assert.deepEqual(run('same', 2).shape, [1, 1, 3, 3]);
  // The odd zero of an even kernel goes after the input.
  assert.deepEqual(numbersOf(run('same')), numbersOf(run([[1, 1], [0, 1]]))); // prettier-ignore
});

test('symbolic sizes give the output as an expression', () => {
  const batch = symbol('n');
  const width = symbol('w', { min: 3 });
  const type = { dtype: 'float32', shape: [batch, 2, width] } as const;
  assert.equal(
    shapeOf((program) =>
      conv1d(
        program.variable('x', type),
        program.variable('k', { dtype: 'float32', shape: [4, 2, 3] }),
      ),
    ),
    'n,4,w - 2',
  );
});

test('a transposed convolution has the size that its options say', () => {
  const random = generator(5);
  const x = randomOperand(random, [1, 2, 3, 4]);
  const w = randomOperand(random, [2, 3, 3, 3]);
  const sizeWith = (options: Parameters<typeof convTranspose2d>[2]): readonly number[] =>
    evaluate([x, w], (a, b) => convTranspose2d(a, b, options))[0].shape;
  assert.deepEqual(sizeWith({}), [1, 3, 5, 6]);
  assert.deepEqual(sizeWith({ strides: 2, padding: 1 }), [1, 3, 5, 7]);
  assert.deepEqual(sizeWith({ strides: 2, padding: 1, outputPadding: [1, 0] }), [1, 3, 6, 7]);
  assert.deepEqual(sizeWith({ strides: 2, padding: 'same' }), [1, 3, 6, 8]);
});

test('operands and options that do not fit are refused, and the error says what would', () => {
  const random = generator(1);
  const run =
    (x: readonly number[], w: readonly number[], options: ConvOptions = {}) =>
    (): unknown =>
      evaluate([randomOperand(random, x), randomOperand(random, w)], (a, b) => conv(a, b, options));
  const refused = (
    action: () => unknown,
    kind: typeof ShapeError | typeof ArgumentError,
    expected: RegExp,
  ): void =>
    assert.throws(action, (error: unknown) => {
      assert.ok(error instanceof kind, String(error));
      assert.equal(error.op, 'conv');
      assert.match(error.expected!, expected);
      return true;
    });
  refused(run([1, 3, 5], [2, 4, 3]), ShapeError, /4 input channels/);
  refused(run([1, 4, 5], [3, 2, 3], { groups: 2 }), ShapeError, /multiple of 2/);
  refused(run([1, 4, 5], [3, 4, 3, 3]), ShapeError, /one rank/);
  refused(run([1, 4], [3, 4]), ShapeError, /spatial/);
  refused(run([1, 1, 2], [1, 1, 5]), ShapeError, /at least 5/);
  refused(run([1, 1, 5], [1, 1, 3], { strides: 0 }), ArgumentError, /at least 1/);
  refused(run([1, 1, 5], [1, 1, 3], { dilation: [1, 1] }), ArgumentError, /1 of them/);
  refused(run([1, 1, 5], [1, 1, 3], { padding: [1, 2] }), ArgumentError, /'same'/);
  refused(run([1, 1, 5], [1, 1, 3], { groups: 1.5 }), ArgumentError, /at least 1/);
  assert.throws(() => evaluate([randomOperand(random, [1, 1, 5])], (x) => conv2d(x, [[[[1]]]])), {
    name: 'ShapeError',
    op: 'conv2d',
    expected: /rank 4/,
  });
  assert.throws(
    () =>
      evaluate([randomOperand(random, [1, 1, 5])], (x) =>
        convTranspose(x, [[[1]]], { outputPadding: 1 }),
      ),
    { name: 'ArgumentError', expected: /stride/ },
  );
});
