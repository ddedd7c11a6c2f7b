import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import { logsumexp, max, min } from '../../../src/ops/index.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { gradientsOf } from '../../support/evaluate.js';

/* What finite differences cannot see: NaN, infinities, and digits that a large result has lost. */

type Dtype = 'float32' | 'float64';

function slopes(
  f: (x: Value) => Value,
  list: readonly number[],
  dtype: Dtype = 'float64',
): number[] {
  const elements = dtype === 'float32' ? Float32Array.from(list) : Float64Array.from(list);
  return [...gradientsOf([{ storage: new Storage(dtype, elements), shape: [list.length] }], f)[0]!];
}

test('logsumexp shares its gradient as the exponentials are parts of the sum', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    for (const size of [0, 1e4, -1e4, 1e30]) {
      assert.deepEqual(
        slopes((x) => logsumexp(x), [size, size], dtype),
        [0.5, 0.5],
        `${size}`,
      );
    }
    const [low, high] = slopes((x) => logsumexp(x), [1e4, 1e4 + 1], dtype);
    const share = 1 / (1 + Math.E);
    const close = dtype === 'float32' ? 1e-7 : 1e-15;
    assert.ok(Math.abs(low - share) < close && Math.abs(high - 1 + share) < close);
  }
});

test('logsumexp shares evenly among equal infinities, and spreads NaN', () => {
  const of = (...list: number[]): number[] => slopes((x) => logsumexp(x), list);
  assert.deepEqual(of(Infinity, 3, -Infinity), [1, 0, 0]);
  assert.deepEqual(of(Infinity, 3, Infinity), [0.5, 0, 0.5]);
  assert.deepEqual(of(-Infinity, 3, -Infinity), [0, 1, 0]);
  assert.deepEqual(of(-Infinity, -Infinity), [0.5, 0.5]);
  assert.deepEqual(of(NaN, 3), [NaN, NaN]);
  assert.deepEqual(of(NaN, Infinity), [NaN, NaN]);
});

test('the gradient of max and min goes to NaN where that is the result, in equal parts', () => {
  for (const f of [max, min]) {
    assert.deepEqual(
      slopes((x) => f(x), [1, NaN, 3]),
      [0, 1, 0],
    );
    assert.deepEqual(
      slopes((x) => f(x), [NaN, 2, NaN]),
      [0.5, 0, 0.5],
    );
    assert.deepEqual(
      slopes((x) => f(x), [2, 2]),
      [0.5, 0.5],
    );
  }
});
