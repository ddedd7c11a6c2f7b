import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { model, node, value } from '../models.js';

const x = [10, 250, 3, 128, 77];
const w = [[2, -3], [-5, 7]]; // prettier-ignore
const [xScale, xZero, yScale, yZero] = [0.05, 12, 0.25, 100];
const bias = [4, -9];

/** QLinearConv of one channel by two filters of two, in uint8, with scales and zero points of the weights. */
function convolved(scales: readonly number[] | number, zeros: readonly number[] | number): unknown {
  const list = (each: readonly number[] | number): number[] => [each].flat();
  const shapeOf = (each: readonly number[] | number): number[] =>
    typeof each === 'number' ? [] : [each.length];
  const operands: readonly (readonly [
    name: string,
    dtype: kn.DType,
    code: number,
    shape: readonly number[],
    data: readonly number[],
  ])[] = [
    ['x', 'uint8', 2, [1, 1, 5], x],
    ['xScale', 'float32', 1, [], [xScale]],
    ['xZero', 'uint8', 2, [], [xZero]],
    ['w', 'int8', 3, [2, 1, 2], w.flat()],
    ['wScale', 'float32', 1, shapeOf(scales), list(scales)],
    ['wZero', 'int8', 3, shapeOf(zeros), list(zeros)],
    ['yScale', 'float32', 1, [], [yScale]],
    ['yZero', 'uint8', 2, [], [yZero]],
    ['b', 'int32', 6, [2], bias],
  ];
  const bytes = model({
    name: 'q',
    node: [
      node(
        'QLinearConv',
        operands.map(([name]) => name),
        'y',
      ),
    ],
    input: operands.map(([name, , code, shape]) => value(name, shape, code)),
    output: [value('y', [])],
  });
  const inputs = operands.map(
    ([name, dtype, , shape, data]) => [name, kn.array(data, { dtype }).reshape(shape)] as const,
  );
  return fromOnnx(bytes).run(Object.fromEntries(inputs)).y.tolist();
}

/** The definition: a sum of products of what the numbers stand for, less the rounding. */
function expected(scales: readonly number[], zeros: readonly number[]): unknown {
  const rows = w.map((filter, m) =>
    [0, 1, 2, 3].map((i) => {
      const sum = filter.reduce(
        (total, each, k) => total + (x[i + k] - xZero) * (each - zeros[m]),
        bias[m],
      );
      const scaled = (sum * xScale * scales[m]) / yScale;
      return Math.min(255, Math.max(0, Math.round(scaled) + yZero));
    }),
  );
  return [rows];
}

test('a quantized convolution has one scale and zero for all filters, or one for each', () => {
  assert.deepEqual(convolved([0.1, 0.35], [1, -2]), expected([0.1, 0.35], [1, -2]));
  assert.deepEqual(convolved([0.1, 0.35], 1), expected([0.1, 0.35], [1, 1]));
  for (const [scale, zero] of [[0.1, 1], [[0.1], [1]], [0.1, [1]]] as const) {
    assert.deepEqual(convolved(scale, zero), expected([0.1, 0.1], [1, 1]));
  }
}); // prettier-ignore
