import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dividedOf } from '../../../../src/kernels/cpu/gemm/region.js';
import { i32, variable } from '../../../../src/loop/language/build.js';

/** The index that is divided, for extents in steps of 4 rows and 16 columns; null for one that only a run knows. */
function divided(
  batch: number | null,
  m: number | null,
  n: number | null,
  isDivided = true,
): string {
  const [b, rows, columns] = [batch, m, n].map((size, k) => size === null ? variable(`s${k}`, 'i32') : i32(size)); // prettier-ignore
  return dividedOf({ context: { isDivided }, batch: b, m: rows, n: columns }, 4, 16);
}

test('threads share the index with the most steps, the batch where there are many products', () => {
  assert.equal(divided(1, 64, 64), 'rows');
  assert.equal(divided(1, 64, 257), 'columns');
  assert.equal(divided(1, 64, 256), 'rows');
  assert.equal(divided(1, 1, 1), 'rows');
  assert.equal(divided(1, 1, 17), 'columns');
  assert.equal(divided(8, 1000, 1000), 'batch');
  assert.equal(divided(7, 1000, 1000), 'rows');
  assert.equal(divided(7, 24, 96), 'batch');
  assert.equal(divided(7, 28, 16), 'rows');
});

test('an extent that only a run knows counts as enough for all threads', () => {
  assert.equal(divided(1, null, 128), 'rows');
  assert.equal(divided(1, null, 129), 'columns');
  assert.equal(divided(1, 28, null), 'columns');
  assert.equal(divided(null, 32, 16), 'rows');
  assert.equal(divided(null, 28, 16), 'batch');
});

test('nothing is divided where one thread runs all', () => {
  assert.equal(divided(64, 1000, 1000, false), 'nothing');
});
