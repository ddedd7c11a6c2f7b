import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { evaluateModule } from '../../../../src/formats/stablehlo/evaluate/evaluate.js';
import { exportModule } from '../../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../../src/front/graphs/lowered.js';
import type { Value } from '../../../../src/ir/program.js';
import { conv, convTranspose, convWeightGradient } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { programOf } from '../../../support/programs.js';
import { runUnderXla, skipWithoutXla } from '../xla.js';

const stride = 3;
const taps = [1, 10, 100];
const w = symbol('w');

/** A convolution with windows side by side, the gradient of its weight by itself, and one padded to `same`. */
const text = exportModule(
  lowered(
    programOf(
      {
        x: { dtype: 'float32', shape: [1, 1, w] },
        k: { dtype: 'float32', shape: [1, 1, taps.length] },
      },
      ({ x, k }) => {
        const y = conv<Value>(x, k, { strides: stride });
        return {
          y,
          g: convWeightGradient<Value>(x, y, { strides: stride, kernel: [taps.length] }),
          same: conv<Value>(x, k, { strides: stride, padding: 'same' }),
          back: convTranspose<Value>(x, k, { strides: 2 }),
        };
      },
    ),
  ),
);

const zeros = (length: number): number[] => Array.from({ length }, () => 0);

/** The same by its definition; `low` and `high` are zeros at the ends. */
function windows(x: readonly number[], low: number, high: number): readonly (readonly number[])[] {
  const padded = [...zeros(low), ...x, ...zeros(high)];
  const count = Math.floor((padded.length - taps.length) / stride) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => padded.slice(i * stride, i * stride + taps.length)); // prettier-ignore
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, each, i) => sum + each * b[i], 0);

function expected(x: readonly number[]): readonly (readonly number[])[] {
  const apart = windows(x, 0, 0);
  const y = apart.map((window) => dot(window, taps));
  const count = Math.ceil(x.length / stride);
  const missing = Math.max(0, (count - 1) * stride + taps.length - x.length);
  const low = Math.floor(missing / 2);
  const back = zeros(2 * x.length + 1);
  x.forEach((each, i) => taps.forEach((tap, k) => (back[2 * i + k] += each * tap)));
  return [
    y,
    taps.map((_, k) => dot(apart.map((window) => window[k]), y)), // prettier-ignore
    windows(x, low, missing - low).map((window) => dot(window, taps)),
    back,
  ];
}

const widths = [0, 3, 4, 5, 6, 11];
const operandsOf = (x: readonly number[]): readonly Operand[] => [
  { storage: new Storage('float32', Float32Array.from(x)), shape: [1, 1, x.length] },
  { storage: new Storage('float32', Float32Array.from(taps)), shape: [1, 1, taps.length] },
];
const inputs = widths.map((width) => Array.from({ length: width }, (_, i) => i + 1));

test('windows of unknown number, none among them, and borders that depend on sizes', () => {
  for (const x of inputs) {
    const given = operandsOf(x).map(({ storage: { dtype, host }, shape }) => ({ dtype, shape, data: host })); // prettier-ignore
    const results = evaluateModule(text, given).map(({ data }) => Array.from(data, Number));
    assert.deepEqual(results, expected(x), `width ${x.length}`);
  }
});

test('XLA runs the same text', { skip: skipWithoutXla }, () => {
  const cases = inputs.map((x) => ({ text, operands: operandsOf(x) }));
  runUnderXla(cases).forEach((results, i) => {
    assert.ok(typeof results !== 'string', `width ${inputs[i].length}: ${String(results)}`);
    const found = results.map(({ storage: { host } }) => Array.from(host, Number));
    assert.deepEqual(found, expected(inputs[i]));
  });
});
