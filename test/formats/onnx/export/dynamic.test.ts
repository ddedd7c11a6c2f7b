import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { agrees, type Arrays } from './agrees.js';

/*
 * Sizes that the data decides. Eager code is the reference; the model is captured with one size and run
 * with others, 0 and 1 among them.
 */

const matrix = (n: number, k: number): kn.NDArray =>
  kn.arange(n * k).reshape([n, k]).mul(1.3).sin(); // prettier-ignore
const rows = (...counts: readonly number[]): Arrays[] => counts.map((n) => ({ x: matrix(n, 3) }));
const dynamic = { x: ['n', null] };

const gradient =
  (f: (x: kn.NDArray) => kn.NDArray) =>
  ({ x }: Arrays): Arrays => {
    const [v, [g]] = kn.valueAndGrad(f, [0])(x);
    return { v, g };
  };

test('booleanMask and its gradient', () => {
  agrees(
    ({ x }) => ({
      y: x.booleanMask(x.greater(0)),
      z: x.booleanMask(x.sum(1).greater(0)).mul(2),
      w: x.booleanMask(x.sum().greater(0)),
    }),
    rows(4, 1, 0, 9),
    { dynamic },
  );
  agrees(
    gradient((x) =>
      x
        .booleanMask(x.greater(0))
        .square()
        .sum()
        .add(x.booleanMask(x.sum(1).greater(0)).sum()),
    ),
    rows(4, 1, 0, 9),
    { dynamic },
  );
});

test('what one mask has selected meets, and what different ones have', () => {
  agrees(
    ({ x }) => {
      const mask = x.sum(1).greater(0);
      const other = x.mul(2).sum(1).greater(0);
      return {
        y: x.booleanMask(mask).add(x.mul(2).booleanMask(mask)),
        z: x.booleanMask(mask).add(x.booleanMask(other)),
      };
    },
    rows(4, 9, 0),
    { dynamic },
  );
});

test('convolutions of channels that masks select, and their gradients', () => {
  const channels = (x: kn.NDArray, of: kn.NDArray): kn.NDArray =>
    kn.expandDims(x.booleanMask(of.sum(1).greater(0)), 0);
  const forms: readonly ((p: kn.NDArray, q: kn.NDArray) => kn.NDArray)[] = [
    (p, q) => kn.conv1d(p, q, { padding: 1 }),
    (p, q) => kn.convTranspose1d(p, q.swapaxes(0, 1), { strides: 2 }),
  ];
  for (const form of forms)
    agrees(
      gradient((x) =>
        form(channels(x, x), channels(x.add(1), x.mul(2)))
          .square()
          .sum(),
      ),
      rows(4, 9, 2),
      { dynamic },
    );
});

test('nonzero, of scalars too', () => {
  agrees(
    ({ x }) => ({
      y: kn.nonzero(x.greater(0)),
      z: kn.nonzero(x.sum()),
      v: kn.nonzero(x.astype('float64')),
      w: kn.nonzero(x.astype('int8')),
    }),
    rows(4, 1, 0),
    { dynamic },
  );
});

const all = { returnIndex: true, returnInverse: true, returnCounts: true } as const;

test('unique of every kind of dtype', () => {
  const feeds = [4, 1, 0, 9].map((n) => ({ x: kn.arange(n * 3).reshape([n, 3]).mod(4) })); // prettier-ignore
  for (const dtype of [
    'int32',
    'int64',
    'uint8',
    'bool',
    'float16',
    'float32',
    'float64',
  ] as const) {
    agrees(({ x }) => ({ ...kn.unique(x.astype(dtype), all) }), feeds, { dynamic });
  }
  agrees(({ x }) => ({ ...kn.unique(x, { axis: 0, ...all }) }), feeds, { dynamic });
  agrees(({ x }) => ({ ...kn.unique(x, { axis: 1, ...all }) }), feeds, { dynamic });
});

test('unique with what is not a number', () => {
  agrees(
    ({ x }) => ({ ...kn.unique(x, all) }),
    [
      { x: kn.array([2, NaN, -1, 2, NaN, 0, -0, Infinity, Infinity, -Infinity]) },
      { x: kn.array([]) },
      { x: kn.array([NaN]) },
    ],
    { dynamic: { x: ['n'] } },
  );
  const pairs = kn.array([[2, NaN], [NaN, 1], [2, NaN], [2, 1], [NaN, 0]]); // prettier-ignore
  agrees(({ x }) => ({ ...kn.unique(x, { axis: 0, ...all }) }), [{ x: pairs }], { dynamic });
});

test('gradients of unique', () => {
  agrees(
    gradient((x) => kn.unique(x.round()).square().sum()),
    rows(4, 1, 0),
    { dynamic },
  );
  agrees(
    gradient((x) => kn.unique(x, { axis: 0 }).square().sum()),
    rows(4, 1, 0),
    { dynamic },
  );
});

test('nonMaxSuppression', () => {
  const boxes = [[0, 0, 1, 1], [0, 0, 1, 1.1], [1, 1, 0, 0.1], [2, 2, 3, 3], [0, 0, 0, 0]]; // prettier-ignore
  agrees(
    ({ b, s }) => ({
      k: kn.nonMaxSuppression(b, s, { iouThreshold: 0.3 }),
      l: kn.nonMaxSuppression(b, s, { scoreThreshold: 0.1, maxOutputSize: 2 }),
    }),
    [
      { b: kn.array(boxes), s: kn.array([0.5, 0.7, 0.7, 0.2, -Infinity]) },
      { b: kn.zeros([0, 4]), s: kn.array([]) },
      { b: kn.array(boxes.slice(0, 1)), s: kn.array([NaN]) },
    ],
    { dynamic: { b: ['n', null], s: ['n'] } },
  );
});

test('repeat by counts, and its gradient', () => {
  const feeds = [[2, 0, 1], [4], [], [0, 0]].map((counts) => ({
    x: matrix(counts.length, 2),
    c: kn.array(counts, { dtype: 'int32' }),
  }));
  const sizes = { dynamic: { x: ['n', null], c: ['n'] } };
  agrees(({ x, c }) => ({ y: kn.repeat(x, c, 0), z: kn.repeat(x, c.sum(), 1) }), feeds, sizes);
  agrees(
    ({ x, c }) => gradient((each) => kn.repeat(each, c, 0).square().sum())({ x }),
    feeds,
    sizes,
  );
});

test('arrays as sizes', () => {
  agrees(
    ({ x }) => ({
      y: kn.shapeOf(x),
      z: x.reshape(kn.shapeOf(x).flip(0)),
      w: kn.zeros(kn.shapeOf(x)),
      v: kn.arange(kn.shapeOf(x).slice(0)),
    }),
    rows(4, 1, 0),
    { dynamic },
  );
  const sizes = [[2, 3], [3, 2], [0, 2]]; // prettier-ignore
  agrees(
    ({ x, s }) => ({
      z: kn.zeros(s),
      f: kn.full(s, 2.5),
      a: kn.arange(s.slice(0)),
      r: x.reshape(s),
    }),
    sizes.map((s) => ({ x: matrix(s[0] * s[1], 1), s: kn.array(s, { dtype: 'int64' }) })),
    { dynamic },
  );
  agrees(
    ({ x, s }) => ({ r: x.reshape(s).add(1) }),
    [[2, -1], [-1, 3], [6, 1]].map((s) => ({ x: matrix(6, 1), s: kn.array(s, { dtype: 'int32' }) })), // prettier-ignore
    { dynamic },
  );
});

test('blocks and ranges whose place an array says', () => {
  agrees(
    ({ x, p }) => ({
      y: kn.dynamicSlice(x, p, [2, 2]),
      z: kn.dynamicSlice(x, p.slice(0), [1], 1),
      u: kn.updateSlice(x, kn.ones([2, 2]), p),
      v: kn.updateSlice(x, kn.zeros([4, 1]), p.slice(1), 1),
    }),
    [[1, 1], [9, -1], [-4, -9]].map((p) => ({ x: matrix(4, 3), p: kn.array(p, { dtype: 'int32' }) })), // prettier-ignore
  );
  agrees(
    ({ x, p }) => ({
      y: x.slice([p.slice(0), p.slice(1)]),
      z: x.slice(p.slice(0)),
      w: x.slice([p.slice(0), null, -1]),
    }),
    [[4, 1, 3], [4, -2, -1], [2, 1, 0]].map(([n, a, b]) => ({ x: matrix(n, 3), p: kn.array([a, b], { dtype: 'int32' }) })), // prettier-ignore
    { dynamic },
  );
});

test('sizes that each iteration decides for itself', () => {
  agrees(
    ({ x }) => {
      const [o] = kn.foreach(
        (row: kn.NDArray) => [row.booleanMask(row.greater(0)).sum(), []],
        x,
        [],
      );
      return { o: o as kn.NDArray };
    },
    rows(4, 1, 0),
    { dynamic },
  );
});

test('gradients of convolutions whose windows leave elements at the end', () => {
  const k = kn.array([[[1, 2, 3]]]);
  const widths = [7, 4, 8].map((n) => ({ x: matrix(n, 1).reshape([1, 1, n]) }));
  agrees(
    ({ x }) => {
      const [v, [g, h]] = kn.valueAndGrad(
        (input: kn.NDArray, weight: kn.NDArray) =>
          kn.conv(input, weight, { strides: 3 }).square().sum(),
        [0, 1],
      )(x, k);
      return { v, g, h, cropped: kn.conv(x, k, { padding: [[-1, 1]], strides: 2 }) };
    },
    widths,
    { dynamic: { x: [null, null, 'w'] } },
  );
});
