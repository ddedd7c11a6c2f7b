import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { generator } from '../../support/samples.js';

/* Selection by data against plain loops over lists, in eager and in captured code. */

const random = generator(5);
const below = (n: number): number => Math.floor(random() * n);

/** What a function gives, eagerly and hybridized; the second hybridized call replays. */
function bothWays<R>(fn: (...args: kn.NDArray[]) => R): (...args: kn.NDArray[]) => R[] {
  const hybrid = kn.hybridize(fn as never) as unknown as typeof fn;
  return (...args) => [fn(...args), hybrid(...args), hybrid(...args)];
}

const floats = ['float32', 'float64', 'float16', 'bfloat16'] as const;
const integers = ['int8', 'uint8', 'int32', 'int64'] as const;
const dtypes = [...floats, ...integers, 'bool'] as const;

test('nonzero finds the indices of what is not 0, of every dtype and rank', () => {
  const run = bothWays((x) => kn.nonzero(x));
  for (const dtype of dtypes) {
    for (const shape of [[], [0], [1], [7], [3, 4], [2, 0, 3], [2, 3, 2]]) {
      const size = shape.reduce((a, b) => a * b, 1);
      const list = Array.from({ length: size }, () => below(2));
      const strides = shape.map((_, k) => shape.slice(k + 1).reduce((a, b) => a * b, 1));
      const expected = list.flatMap((value, at) =>
        value === 0 ? [] : [strides.map((s, k) => BigInt(Math.floor(at / s) % shape[k]))],
      );
      const x = kn.array(list).reshape(shape).astype(dtype);
      for (const found of run(x)) {
        assert.equal(found.dtype, 'int64');
        assert.deepEqual(found.shape, [expected.length, shape.length]);
        assert.deepEqual(found.tolist(), expected);
      }
    }
  }
  const odd = kn.array([0, -0, NaN, -1]);
  for (const found of run(odd)) assert.deepEqual(found.tolist(), [[2n], [3n]]);
});

test('booleanMask selects along leading axes: some, none, all, and by rank 0', () => {
  const run = bothWays((x, mask) => x.booleanMask(mask));
  const x = kn.arange(12).reshape([3, 4]);
  const rows = x.tolist() as number[][];
  for (const bits of [0, 1, 2, 3, 5, 7]) {
    const mask = [0, 1, 2].map((k) => ((bits >> k) & 1) === 1);
    for (const y of run(x, kn.array(mask))) {
      assert.deepEqual(
        y.tolist(),
        rows.filter((_, k) => mask[k]),
      );
      assert.deepEqual(y.shape, [mask.filter(Boolean).length, 4]);
    }
  }
  for (let round = 0; round < 5; round++) {
    const mask = rows.map((row) => row.map(() => random() < 0.5));
    for (const y of run(x, kn.array(mask))) {
      assert.deepEqual(
        y.tolist(),
        rows.flat().filter((_, at) => mask.flat()[at]),
      );
    }
  }
  for (const y of run(x, kn.array(true))) assert.deepEqual(y.tolist(), [rows]);
  for (const y of run(x, kn.array(false))) assert.deepEqual(y.shape, [0, 3, 4]);
});

test('one selection may follow another', () => {
  const positive = (x: kn.NDArray): kn.NDArray => x.booleanMask(x.greater(0));
  const run = bothWays((x) => {
    const first = positive(x);
    return first.booleanMask(first.less(first.mean()));
  });
  for (const list of [[3, -1, 5, 1, -2, 2], [-1, -2], [4], [7, 7, -7]]) {
    const kept = list.filter((value) => value > 0);
    const mean = kept.reduce((a, b) => a + b, 0) / kept.length;
    const expected = kept.filter((value) => value < mean);
    for (const y of run(kn.array(list))) assert.deepEqual(y.tolist(), expected);
  }
});

test('a mask of another dtype is a DTypeError, one of other extents a ShapeError', () => {
  const x = kn.zeros([3, 2]);
  assert.throws(() => x.booleanMask(kn.array([1, 0, 1])), kn.DTypeError);
  assert.throws(() => x.booleanMask([true, false]), kn.ShapeError);
  assert.throws(() => x.booleanMask(kn.full([3, 2, 1], true)), kn.ShapeError);
});

type Values = readonly (number | bigint | boolean)[];

/** Unique by scanning: the values in order, first places, inverse, counts. */
function uniqueOf(list: Values): { values: Values; index: number[]; inverse: number[]; counts: number[] } {
  const same = (a: unknown, b: unknown): boolean => a === b || (a !== a && b !== b);
  const distinct = list.filter((value, k) => list.findIndex((other) => same(other, value)) === k);
  const numbers = distinct.filter((value) => value === value);
  const values: Values = [
    ...numbers.toSorted((a, b) => (a === b ? 0 : a < b ? -1 : 1)),
    ...distinct.filter((value) => value !== value),
  ];
  return {
    values,
    index: values.map((value) => list.findIndex((other) => same(other, value))),
    inverse: list.map((value) => values.findIndex((other) => same(other, value))),
    counts: values.map((value) => list.filter((other) => same(other, value)).length),
  };
} // prettier-ignore

const everything = { returnIndex: true, returnInverse: true, returnCounts: true } as const;
const big = (list: readonly number[]): bigint[] => list.map(BigInt);

test('unique gives sorted values, first places, inverse and counts, of every dtype', () => {
  const run = bothWays((x) => x.unique(everything));
  const bare = bothWays((x) => kn.unique(x));
  for (const dtype of dtypes) {
    for (const length of [0, 1, 2, 17]) {
      const given = Array.from({ length }, () => below(6) / 2);
      const x = kn.array(given).astype(dtype);
      const expected = uniqueOf(x.tolist() as Values);
      for (const found of run(x)) {
        assert.equal(found.values.dtype, dtype);
        assert.deepEqual(found.values.tolist(), expected.values, dtype);
        assert.deepEqual(found.index.tolist(), big(expected.index));
        assert.deepEqual(found.inverse.tolist(), big(expected.inverse));
        assert.deepEqual(found.counts.tolist(), big(expected.counts));
      }
      for (const values of bare(x)) assert.deepEqual(values.tolist(), expected.values);
    }
  }
});

test('NaNs are one value, which comes last', () => {
  const list = [NaN, 2, -Infinity, NaN, 2, Infinity];
  const found = kn.unique(kn.array(list), everything);
  const expected = uniqueOf(list);
  assert.deepEqual(found.values.tolist(), expected.values);
  assert.deepEqual(found.inverse.tolist(), big(expected.inverse));
  assert.deepEqual(found.counts.tolist(), [1n, 2n, 1n, 2n]);
});

test('unique of a matrix is of its elements, and the inverse has its shape', () => {
  const x = kn.array([[3, 1], [1, 2]]); // prettier-ignore
  const { values, inverse } = kn.unique(x, { returnInverse: true });
  assert.deepEqual(values.tolist(), [1, 2, 3]);
  assert.deepEqual(inverse.tolist(), [[2n, 0n], [0n, 1n]]); // prettier-ignore
});

test('unique along an axis compares sub-arrays in lexicographic order', () => {
  const run = bothWays((x) => x.unique({ axis: 0, ...everything }));
  const turned = bothWays((x) => x.unique({ axis: -1 }));
  for (const [n, m] of [
    [9, 2],
    [1, 3],
    [0, 2],
    [4, 0],
    [12, 1],
  ]) {
    const rows = Array.from({ length: n }, () => Array.from({ length: m }, () => below(3)));
    const keys = rows.map((row) => row.join());
    const expected = [...new Set(keys)].sort(); // digits: text order is number order
    const x = kn.array(rows.flat()).reshape([n, m]);
    for (const found of run(x)) {
      assert.deepEqual(found.values.shape, [expected.length, m]);
      assert.deepEqual(
        (found.values.tolist() as number[][]).map((row) => row.join()),
        expected,
      );
      assert.deepEqual(found.index.tolist(), big(expected.map((key) => keys.indexOf(key))));
      assert.deepEqual(found.inverse.tolist(), big(keys.map((key) => expected.indexOf(key))));
      assert.deepEqual(found.counts.tolist(), big(expected.map((key) => keys.filter((k) => k === key).length))); // prettier-ignore
    }
    for (const values of turned(x.transpose())) {
      assert.deepEqual(values.transpose().tolist(), run(x)[0].values.tolist());
    }
  }
  assert.throws(() => kn.zeros([2]).unique({ axis: 1 }), kn.ShapeError);
});

test('the gradient of a unique value goes to where it occurs first', () => {
  const x = kn.array([2, 1, 2, 3, 1], { dtype: 'float64' });
  const f = (a: kn.NDArray): kn.NDArray => a.unique().square().sum();
  for (const run of [kn.grad(f), kn.hybridize(kn.grad(f)), kn.grad(kn.hybridize(f))]) {
    assert.deepEqual(run(x).tolist(), [4, 2, 0, 6, 0]);
  }
});

/** The share of two boxes in their union. */
function overlapOf(a: readonly number[], b: readonly number[]): number {
  const side = (box: readonly number[], k: number): [number, number] => [Math.min(box[k], box[k + 2]), Math.max(box[k], box[k + 2])];
  const [ay, ax, by, bx] = [side(a, 0), side(a, 1), side(b, 0), side(b, 1)];
  const common = (p: readonly number[], q: readonly number[]): number => Math.max(0, Math.min(p[1], q[1]) - Math.max(p[0], q[0]));
  const area = (p: readonly number[], q: readonly number[]): number => (p[1] - p[0]) * (q[1] - q[0]);
  const shared = common(ay, by) * common(ax, bx);
  if (area(ay, ax) <= 0 || area(by, bx) <= 0) return 0;
  return shared / (area(ay, ax) + area(by, bx) - shared);
} // prettier-ignore

test('nonMaxSuppression keeps the best of boxes that overlap', () => {
  for (const n of [0, 1, 2, 12, 40]) {
    for (const options of [{}, { iouThreshold: 0.2 }, { scoreThreshold: 0.4, maxOutputSize: 3 }, { maxOutputSize: 0 }, { maxOutputSize: 2 ** 32 }]) {
      const boxes = Array.from({ length: n }, () => Array.from({ length: 4 }, () => below(9)));
      const scores = Array.from({ length: n }, () => below(8) / 8);
      const { iouThreshold = 0.5, scoreThreshold = -Infinity, maxOutputSize = Infinity } = options as kn.SuppressionOptions;
      const kept: number[] = [];
      const order = scores.map((_, k) => k).sort((a, b) => scores[b] - scores[a] || a - b);
      for (const k of order) {
        if (kept.length >= maxOutputSize || !(scores[k] > scoreThreshold)) continue;
        if (kept.every((other) => overlapOf(boxes[k], boxes[other]) <= iouThreshold)) kept.push(k);
      }
      const run = bothWays((b, s) => kn.nonMaxSuppression(b, s, options));
      const given = kn.array(boxes.flat(), { dtype: 'float64' }).reshape([n, 4]);
      for (const found of run(given, kn.array(scores))) assert.deepEqual(found.tolist(), big(kept));
    }
  }
}); // prettier-ignore

test('nonMaxSuppression refuses what are no boxes, scores or thresholds', () => {
  const [boxes, scores] = [kn.zeros([3, 4]), kn.zeros([3])];
  assert.throws(() => kn.nonMaxSuppression(kn.zeros([3, 5]), scores), kn.ShapeError);
  assert.throws(() => kn.nonMaxSuppression(boxes, kn.zeros([2])), kn.ShapeError);
  assert.throws(() => kn.nonMaxSuppression(boxes, kn.zeros([3, 1])), kn.ShapeError);
  assert.throws(() => kn.nonMaxSuppression(boxes, scores, { iouThreshold: 2 }), kn.ArgumentError);
  assert.throws(() => kn.nonMaxSuppression(boxes, scores, { scoreThreshold: NaN }), kn.ArgumentError);
  assert.throws(() => kn.nonMaxSuppression(boxes, scores, { maxOutputSize: -1 }), kn.ArgumentError);
}); // prettier-ignore
