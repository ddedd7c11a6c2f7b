import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/* Blocks at places that arrays say, against copies of lists. */

const int = (value: number): kn.NDArray => kn.array(value, { dtype: 'int32' });

/** Where a block of a size really begins along an axis. */
function placed(start: number, size: number, extent: number): number {
  const counted = start < 0 ? start + extent : start;
  return Math.max(0, Math.min(counted, extent - size));
}

const table = kn.arange(20).reshape([5, 4]);
const rows = table.tolist() as number[][];

test('dynamicSlice reads a block, moved until it lies within the array', () => {
  const read = (x: kn.NDArray, start: kn.NDArray): kn.NDArray => x.dynamicSlice(start, [2], 0);
  const hybrid = kn.hybridize(read);
  for (const start of [-9, -5, -1, 0, 1, 3, 4, 99]) {
    const first = placed(start, 2, 5);
    const expected = rows.slice(first, first + 2);
    assert.deepEqual(read(table, int(start)).tolist(), expected, `start ${start}`);
    assert.deepEqual(hybrid(table, int(start)).tolist(), expected, `hybridized, start ${start}`);
  }
  const corner = table.dynamicSlice(kn.array([1, 9], { dtype: 'int64' }), [3, 2]);
  assert.deepEqual(
    corner.tolist(),
    rows.slice(1, 4).map((row) => row.slice(2)),
  );
  assert.deepEqual(table.dynamicSlice(int(3), [0], -1).shape, [5, 0]);
});

test('updateSlice writes a block and leaves the rest', () => {
  const write = (x: kn.NDArray, update: kn.NDArray, start: kn.NDArray): kn.NDArray =>
    x.updateSlice(update, start, 0);
  const hybrid = kn.hybridize(write);
  const update = kn.full([2, 4], -1);
  for (const start of [-9, -2, 0, 2, 3, 4]) {
    const first = placed(start, 2, 5);
    const expected = rows.map((row, k) =>
      k === first || k === first + 1 ? row.map(() => -1) : row,
    );
    assert.deepEqual(write(table, update, int(start)).tolist(), expected, `start ${start}`);
    assert.deepEqual(hybrid(table, update, int(start)).tolist(), expected, `start ${start}`);
  }
  const mid = table.updateSlice([[7, 8]], [2, 1]);
  const expected = rows.map((row, k) => (k === 2 ? row.with(1, 7).with(2, 8) : row));
  assert.deepEqual(mid.tolist(), expected);
});

test('a buffer that a loop fills row by row holds what it was given, and so do its gradients', () => {
  const fill = (x: kn.NDArray): kn.NDArray => {
    const [, [, buffer]] = kn.foreach(
      (row: kn.NDArray, [i, held]: kn.NDArray[]) => [
        [],
        [i.add(1), held.updateSlice(row.square().expandDims(0), i, 0)],
      ],
      x,
      [int(0), kn.zeros([7, 4])],
    ) as [unknown, kn.NDArray[]];
    return buffer;
  };
  const loss = (x: kn.NDArray): kn.NDArray => fill(x).sum();
  const squares = rows.map((row) => row.map((value) => value * value));
  const padded = [...squares, [0, 0, 0, 0], [0, 0, 0, 0]];
  assert.deepEqual(fill(table).tolist(), padded);
  assert.deepEqual(kn.hybridize(fill)(table).tolist(), padded);
  const doubled = rows.map((row) => row.map((value) => 2 * value));
  for (const run of [kn.grad(loss), kn.hybridize(kn.grad(loss)), kn.grad(kn.hybridize(loss))]) {
    assert.deepEqual(run(table).tolist(), doubled);
  }
});

test('blocks that do not fit and starts that say nothing are refused', () => {
  assert.throws(() => table.dynamicSlice(int(0), [6], 0), kn.ShapeError);
  assert.throws(() => table.dynamicSlice(int(0), [1, 1]), kn.ShapeError);
  assert.throws(() => table.dynamicSlice(kn.array(0), [1], 0), kn.DTypeError);
  assert.throws(() => table.dynamicSlice([0, 0], [1, 1], [0, -2]), kn.ArgumentError);
  assert.throws(() => table.dynamicSlice(int(0), [1, 1], 0), kn.ArgumentError);
  assert.throws(() => table.updateSlice(kn.zeros([4]), int(0), 0), kn.ShapeError);
  assert.throws(() => table.updateSlice(kn.zeros([1, 3]), int(0), 0), kn.ShapeError);
  assert.throws(() => table.updateSlice(kn.zeros([6, 4]), int(0), 0), kn.ShapeError);
});
