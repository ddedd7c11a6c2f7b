import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import {
  batchNorm, batchNormTraining, groupNorm, instanceNorm, l2Normalize, layerNorm, rmsNorm,
} from '../../../src/ops/index.js'; // prettier-ignore
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { indicesOf, numbersOf, positionOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate, gradientsOf } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

interface Statistics {
  readonly mean: number;
  readonly variance: number;
}

/** The statistics of the elements that share a key, one entry an element of `x`. */
function statisticsBy(x: Operand, keyOf: (index: readonly number[]) => string): Statistics[] {
  const data = numbersOf(x);
  const groups = new Map<string, number[]>();
  const keys = indicesOf(x.shape).map(keyOf);
  keys.forEach((key, at) => groups.set(key, [...(groups.get(key) ?? []), data[at]]));
  return keys.map((key) => {
    const group = groups.get(key)!;
    const mean = group.reduce((a, b) => a + b, 0) / group.length;
    return { mean, variance: group.reduce((a, b) => a + (b - mean) ** 2, 0) / group.length };
  });
}

function standardized(x: Operand, statistics: readonly Statistics[], epsilon: number): number[] {
  return numbersOf(x).map(
    (value, at) => (value - statistics[at].mean) / Math.sqrt(statistics[at].variance + epsilon),
  );
}

const without = (...axes: readonly number[]) => (index: readonly number[]): string =>
  index.filter((_, axis) => !axes.includes(axis)).join(','); // prettier-ignore

test('layer norm standardizes the last axis, then scales and shifts', () => {
  const random = generator(1);
  const x = randomOperand(random, [3, 2, 5]);
  const [gamma, beta] = [randomOperand(random, [5]), randomOperand(random, [5])];
  const [plain, affine, both] = evaluate([x, gamma, beta], (a, g, b) => [
    layerNorm(a),
    layerNorm(a, g, b, { epsilon: 0.5 }),
    layerNorm(a, null, null, { axes: [1, 2] }),
  ]);
  const rows = statisticsBy(x, without(2));
  assertClose(numbersOf(plain), standardized(x, rows, 1e-5), 1e-12);
  const [scale, shift] = [numbersOf(gamma), numbersOf(beta)];
  const expected = standardized(x, rows, 0.5).map((y, at) => y * scale[at % 5] + shift[at % 5]);
  assertClose(numbersOf(affine), expected, 1e-12);
  assertClose(numbersOf(both), standardized(x, statisticsBy(x, without(1, 2)), 1e-5), 1e-12);
});

test('parameters over inner axes meet those axes', () => {
  const random = generator(2);
  const x = randomOperand(random, [2, 3, 4]);
  const gamma = randomOperand(random, [3, 1]);
  const [result] = evaluate([x, gamma], (a, g) => layerNorm(a, g, null, { axes: 1 }));
  const scale = numbersOf(gamma);
  const normal = standardized(x, statisticsBy(x, without(1)), 1e-5);
  assertClose(
    numbersOf(result),
    normal.map((y, at) => y * scale[Math.floor(at / 4) % 3]),
    1e-12,
  );
});

test('a mean far from zero costs no precision', () => {
  const x = operand('float32', [4], [100000, 100001, 100002, 100003]);
  const [result] = evaluate([x], (a) => layerNorm(a));
  const unit = 1 / Math.sqrt(1.25 + 1e-5);
  assertClose(numbersOf(result), [-1.5 * unit, -0.5 * unit, 0.5 * unit, 1.5 * unit], 1e-6);
});

test('half precision is normalized in float32', () => {
  const x = operand('float16', [4], [600, 601, 602, 603]); // squares overflow float16
  const [layer, root] = evaluate([x], (a) => [layerNorm(a), rmsNorm(a)]);
  assert.equal(layer.storage.dtype, 'float16');
  assertClose(numbersOf(layer), [-1.3416, -0.4472, 0.4472, 1.3416], 1e-3);
  assertClose(numbersOf(root), [0.9975, 0.9992, 1.0008, 1.0025], 1e-3);
});

test('rms norm divides by the root of the mean square', () => {
  const random = generator(3);
  const x = randomOperand(random, [3, 4]);
  const gamma = randomOperand(random, [4]);
  const [result] = evaluate([x, gamma], (a, g) => rmsNorm(a, g, { epsilon: 0.1 }));
  const [data, scale] = [numbersOf(x), numbersOf(gamma)];
  const expected = data.map((value, at) => {
    const row = data.slice(at - (at % 4), at - (at % 4) + 4);
    const square = row.reduce((sum, each) => sum + each * each, 0) / 4;
    return (value / Math.sqrt(square + 0.1)) * scale[at % 4];
  });
  assertClose(numbersOf(result), expected, 1e-12);
});

test('group norm standardizes groups of channels over space', () => {
  const random = generator(4);
  const x = randomOperand(random, [2, 6, 2, 3]);
  const [gamma, beta] = [randomOperand(random, [6]), randomOperand(random, [6])];
  const [result] = evaluate([x, gamma, beta], (a, g, b) => groupNorm(a, 3, g, b));
  const groups = statisticsBy(x, ([n, c]) => `${n},${Math.floor(c / 2)}`);
  const [scale, shift] = [numbersOf(gamma), numbersOf(beta)];
  const expected = standardized(x, groups, 1e-5).map((y, at) => {
    const channel = Math.floor(at / 6) % 6;
    return y * scale[channel] + shift[channel];
  });
  assertClose(numbersOf(result), expected, 1e-12);
});

test('instance norm standardizes each channel of each example over space', () => {
  const random = generator(6);
  const x = randomOperand(random, [2, 3, 2, 4]);
  const [gamma, beta] = [randomOperand(random, [3]), randomOperand(random, [3])];
  const [plain, affine, shifted] = evaluate([x, gamma, beta], (a, g, b) => [
    instanceNorm(a),
    instanceNorm(a, g, b, { epsilon: 0.2 }),
    instanceNorm(a, null, b),
  ]);
  const channels = statisticsBy(x, ([n, c]) => `${n},${c}`);
  const channelOf = (at: number): number => Math.floor(at / 8) % 3;
  const [scale, shift] = [numbersOf(gamma), numbersOf(beta)];
  const normal = standardized(x, channels, 1e-5);
  assertClose(numbersOf(plain), normal, 1e-12);
  assertClose(
    numbersOf(affine),
    standardized(x, channels, 0.2).map((y, at) => y * scale[channelOf(at)] + shift[channelOf(at)]),
    1e-12,
  );
  assertClose(
    numbersOf(shifted),
    normal.map((y, at) => y + shift[channelOf(at)]),
    1e-12,
  );
});

test('instance norm asks for space, and for a parameter a channel', () => {
  const [x, flat, wrong] = [[2, 3, 4], [2, 3], [4]].map((shape) =>
    randomOperand(generator(7), shape),
  );
  const refuse = (operands: readonly Operand[], expected: RegExp): void =>
    assert.throws(() => evaluate(operands, (a, g) => instanceNorm(a, g)), {
      name: 'ShapeError',
      op: 'instanceNorm',
      expected,
    });
  refuse([flat], /at least one spatial axis/);
  refuse([x, wrong], /gamma and beta of shape \[3\]/);
});

for (const axis of [1, -1]) {
  test(`batch norm over the channels on axis ${axis}, by its own and by given statistics`, () => {
    const random = generator(5);
    const shape = axis === 1 ? [4, 3, 2] : [4, 2, 3];
    const channels = axis === 1 ? 1 : 2;
    const x = randomOperand(random, shape);
    const [gamma, beta] = [randomOperand(random, [3]), randomOperand(random, [3])];
    const [output, mean, variance, again] = evaluate([x, gamma, beta], (a, g, b) => {
      const training = batchNormTraining(a, g, b, { axis });
      const inference = batchNorm(a, training.mean, training.variance, g, b, { axis });
      return [training.output, training.mean, training.variance, inference];
    });
    const statistics = statisticsBy(x, (index) => String(index[channels]));
    const [scale, shift] = [numbersOf(gamma), numbersOf(beta)];
    const expected = standardized(x, statistics, 1e-5).map((y, at) => {
      const channel = indicesOf(shape)[at][channels];
      return y * scale[channel] + shift[channel];
    });
    assertClose(numbersOf(output), expected, 1e-12);
    assertClose(numbersOf(again), expected, 1e-12);
    assert.deepEqual(mean.shape, [3]);
    const first = [0, 1, 2].map((channel) => {
      const index = axis === 1 ? [0, channel, 0] : [0, 0, channel];
      return statistics[positionOf(index, shape)];
    });
    assertClose(numbersOf(mean), first.map((each) => each.mean), 1e-12); // prettier-ignore
    assertClose(numbersOf(variance), first.map((each) => each.variance), 1e-12); // prettier-ignore
  });
}

test('statistics alone have gradients: 1 / n of the mean, 2 (x - mean) / n of the variance', () => {
  const x = operand('float64', [2, 2, 2], [1, 5, 0, 2, 3, 7, 4, 6]);
  const along = (statistic: 'mean' | 'variance'): readonly (number[] | null)[] =>
    gradientsOf([x], (a) => batchNormTraining(a)[statistic], operand('float64', [2], [1, 10]));
  assert.deepEqual(along('mean'), [[0.25, 0.25, 2.5, 2.5, 0.25, 0.25, 2.5, 2.5]]);
  // The means of the two channels are 4 and 3.
  assert.deepEqual(along('variance'), [[-1.5, 0.5, -15, -5, -0.5, 1.5, 5, 15]]);
});

test('unit vectors have length 1, and zero stays zero', () => {
  const x = operand('float64', [3, 2], [3, 4, 0, 0, 0, -2]);
  const [rows, all] = evaluate([x], (a) => [l2Normalize(a), l2Normalize(a, null)]);
  assertClose(numbersOf(rows), [0.6, 0.8, 0, 0, 0, -1], 1e-15);
  const length = Math.sqrt(29);
  assertClose(numbersOf(all), [3 / length, 4 / length, 0, 0, 0, -2 / length], 1e-15);
});

test('an empty batch has an empty result', () => {
  const x = operand('float32', [0, 4], []);
  const results = evaluate([x], (a) => [layerNorm(a), rmsNorm(a), groupNorm(a, 2), l2Normalize(a)]);
  for (const result of results) assert.deepEqual(result.shape, [0, 4]);
});

test('parameters and groups that do not fit are refused', () => {
  const x = randomOperand(generator(6), [2, 4]);
  const wrong = randomOperand(generator(7), [3]);
  const refused = (build: () => unknown, op: string, expected: RegExp): void =>
    assert.throws(build, (error: unknown) => {
      assert.ok(error instanceof ShapeError, String(error));
      assert.equal(error.op, op);
      assert.match(error.expected!, expected);
      return true;
    });
  refused(() => evaluate([x, wrong], (a, g) => layerNorm(a, g)), 'layerNorm', /\[4\]/);
  refused(() => evaluate([x, wrong], (a, g) => rmsNorm(a, g)), 'rmsNorm', /\[4\]/);
  refused(() => evaluate([x, wrong], (a, g) => groupNorm(a, 2, g)), 'groupNorm', /\[4\]/);
  refused(() => evaluate([x], (a) => groupNorm(a, 3)), 'groupNorm', /multiple of 3/);
  refused(() => evaluate([x, wrong], (a, m) => batchNorm(a, m, m)), 'batchNorm', /\[4\]/);
});
