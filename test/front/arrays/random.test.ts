import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

const numbers = (x: kn.NDArray): number[] => Array.from(x.dataSync() as Float32Array, Number);
const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / values.length;

test('equal seeds give equal numbers, each draw fresh ones', () => {
  kn.random.seed(42);
  const [a, b] = [kn.random.normal([8]).tolist(), kn.random.normal([8]).tolist()];
  assert.notDeepEqual(a, b);
  kn.random.seed(42);
  assert.deepEqual(kn.random.normal([8]).tolist(), a);
  kn.random.seed(43);
  assert.notDeepEqual(kn.random.normal([8]).tolist(), a);
  kn.random.seed(2n ** 63n - 1n);
  assert.equal(kn.random.uniform([3]).size, 3);
});

test('the state can be kept and put back', () => {
  kn.random.seed(1);
  kn.random.uniform();
  const state = kn.random.getState();
  const first = kn.random.uniform([4]).tolist();
  kn.random.setState(state);
  assert.deepEqual(kn.random.uniform([4]).tolist(), first);
});

test('the distributions have their moments', () => {
  kn.random.seed(7);
  const normal = numbers(kn.random.normal([20000], { mean: 2, std: 3 }));
  near(mean(normal), 2, 0.05);
  near(mean(normal.map((x) => (x - 2) ** 2)), 9, 0.05);
  const uniform = numbers(kn.random.uniform([20000], { low: -1, high: 3 }));
  near(mean(uniform), 1, 0.05);
  assert.ok(uniform.every((x) => x >= -1 && x < 3));
  near(mean(numbers(kn.random.bernoulli([20000], { p: 0.3, dtype: 'float32' }))), 0.3, 0.02);
  assert.equal(kn.random.bernoulli([2]).dtype, 'bool');
});

test('randint covers its range and nothing else', () => {
  kn.random.seed(3);
  const values = numbers(kn.random.randint(2, 6, [1000]));
  assert.deepEqual([...new Set(values)].sort(), [2, 3, 4, 5]);
  assert.equal(kn.random.randint([3], { high: 5, dtype: 'int64' }).dtype, 'int64');
  assert.deepEqual(kn.random.randint(0, 1).tolist(), 0);
  refuses(
    () => kn.random.randint(3 as never, undefined as never),
    kn.ArgumentError,
    'bounds are missing',
  );
  refuses(() => kn.random.randint(3, 3, [1]), kn.KaonError, 'low < high');
});

test('categorical draws in proportion to the exponentials', () => {
  kn.random.seed(5);
  const logits = [Math.log(1), Math.log(2), Math.log(5)];
  const draws = Array.from(
    kn.random.categorical(logits, { shape: 8000 }).dataSync() as BigInt64Array,
    Number,
  );
  for (const [k, p] of [1 / 8, 2 / 8, 5 / 8].entries()) {
    near(draws.filter((draw) => draw === k).length / draws.length, p, 0.03);
  }
  assert.deepEqual(
    kn.random
      .categorical([
        [0, -1e9],
        [-1e9, 0],
      ])
      .tolist(),
    [0n, 1n],
  );
  refuses(() => kn.random.categorical(1), kn.ShapeError, 'no categories');
});

test('a permutation holds everything once', () => {
  kn.random.seed(11);
  const order = numbers(kn.random.permutation(50));
  assert.deepEqual(
    [...order].sort((a, b) => a - b),
    Array.from({ length: 50 }, (_, i) => i),
  );
  assert.notDeepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  const rows = kn.random.permutation(kn.arange(6).reshape([3, 2]));
  assert.deepEqual(
    (rows.tolist() as number[][]).sort((a, b) => a[0] - b[0]),
    [
      [0, 1],
      [2, 3],
      [4, 5],
    ],
  );
  assert.deepEqual(kn.random.permutation(0).tolist(), []);
  refuses(
    () => kn.random.permutation(-1),
    kn.ArgumentError,
    'random.permutation: n is not acceptable',
  );
});

test('captured code draws what eager code draws, and replays draw afresh', () => {
  const draw = (): kn.NDArray[] => [
    kn.random.normal([3]),
    kn.random.uniform([2]).add(kn.random.normal([2])),
  ];
  kn.random.seed(9);
  const eager = [draw(), draw(), draw()].map((list) => list.map((x) => x.tolist()));
  kn.random.seed(9);
  const captured = kn.hybridize(draw);
  assert.deepEqual(
    [captured(), captured(), captured()].map((list) => list.map((x) => x.tolist())),
    eager,
  );
  kn.random.seed(9);
  const lazy = [kn.deferredCompute(draw), kn.deferredCompute(draw), draw()];
  assert.deepEqual(
    lazy
      .toReversed()
      .map((list) => list.map((x) => x.tolist()))
      .reverse(),
    eager,
  );
});

test('an exported graph takes the random state and hands it on', () => {
  const x = kn.zeros([3]);
  const y = kn.deferredCompute(() => x.add(kn.random.normal([3])).add(kn.random.normal([3])));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  assert.deepEqual([graph.inputNames, graph.outputNames], [['x'], ['y']]);
  kn.random.seed(4);
  const expected = [0, 1].map(() =>
    kn.random
      .normal([3])
      .add(kn.random.normal([3]))
      .tolist(),
  );
  kn.random.seed(4);
  assert.deepEqual(
    [0, 1].map(() => graph.run({ x }).y.tolist()),
    expected,
  );
  kn.random.seed(4);
  const again = kn.StaticGraph.fromJSON(JSON.stringify(graph));
  assert.deepEqual(
    [0, 1].map(() => again.run({ x }).y.tolist()),
    expected,
  );
});

test('seeding while tracing, and what is no seed, are refused', () => {
  refuses(() => kn.hybridize(() => kn.random.seed(1))(), kn.TraceError, 'while tracing');
  refuses(() => kn.random.seed(1.5), kn.ArgumentError, 'a seed is an integer');
  refuses(
    () => kn.random.bernoulli([1], { p: 2 }),
    kn.ArgumentError,
    'p is not acceptable',
    '0 to 1',
  );
});

test('seeds are refused rather than wrapped', () => {
  const before = kn.random.getState();
  for (const seed of [2n ** 63n, 2n ** 70n, -(2n ** 63n) - 1n]) {
    refuses(() => kn.random.seed(seed), kn.ArgumentError, 'random.seed', '2^63');
    refuses(() => kn.random.setState({ seed, counter: 0n }), kn.ArgumentError, 'random.setState');
  }
  for (const seed of [NaN, Infinity, 2 ** 53, '1', null, true]) {
    refuses(() => kn.random.seed(seed as never), kn.ArgumentError, 'random.seed');
  }
  assert.deepEqual(kn.random.getState(), before);
  kn.random.seed(-1);
  const negative = kn.random.uniform([4]).tolist();
  kn.random.seed(2n ** 63n - 1n);
  assert.notDeepEqual(kn.random.uniform([4]).tolist(), negative);
});

test('ranges and options that make no sense are refused, and draw nothing', () => {
  kn.random.seed(3);
  const before = kn.random.getState();
  const loose = (options: object): never => options as never;
  const mistakes: readonly (readonly [string, () => unknown])[] = [
    ['beyond float32', () => kn.random.uniform([2], { low: -3e38, high: 3e38 })],
    ['beyond float16', () => kn.random.uniform([2], { high: 1e5, dtype: 'float16' })],
    ['beyond bfloat16', () => kn.random.uniform([2], { low: -2e38, high: 2e38, dtype: 'bfloat16' })],
    ['beyond float16', () => kn.random.normal([2], { std: 1e5, dtype: 'float16' })],
    ['did you mean high', () => kn.random.uniform([2], loose({ hihg: 2 }))],
    ['did you mean std', () => kn.random.normal([2], loose({ sdt: 2 }))],
    ['low', () => kn.random.uniform([2], loose({ low: '0' }))],
    ['did you mean high', () => kn.random.randint([2], loose({ hight: 2 }))],
    ['high', () => kn.random.randint([2], loose({}))],
    ['there is no option prob', () => kn.random.bernoulli([2], loose({ prob: 0.5 }))],
    ['did you mean shape', () => kn.random.categorical([0, 1], loose({ shap: [2] }))],
  ]; // prettier-ignore
  for (const [words, act] of mistakes) refuses(act, kn.ArgumentError, words);
  assert.deepEqual(kn.random.getState(), before);
  // The whole of a dtype that is not beyond it.
  const wide = kn.random.uniform([100], { low: -3e4, high: 3e4, dtype: 'float16' });
  assert.ok(wide.isFinite().all().item());
});
