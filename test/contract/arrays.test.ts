import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';
import { refused, refusedInEveryForm } from './refusals.js';

/* The section "Arrays" of the public contract, line by line. */

const matrix = (): { x: kn.NDArray } => ({ x: kn.array([[1, 2], [3, 4]]) }); // prettier-ignore
const cube = (): { x: kn.NDArray } => ({ x: kn.arange(24).reshape([2, 3, 4]) });

test("kn.array([[1, 2], [3, 4]]): float32; integers need { dtype: 'int32' }", () => {
  const x = kn.array([[1, 2], [3, 4]]); // prettier-ignore
  assert.deepEqual([x.dtype, x.shape, x.tolist()], ['float32', [2, 2], [[1, 2], [3, 4]]]); // prettier-ignore
  assert.equal(kn.array([1, 2], { dtype: 'int32' }).dtype, 'int32');
  assert.equal(kn.array([1, 2, 3]).dtype, 'float32');
});

test('kn.array(new Float32Array(6), { shape: [2, 3] })', () => {
  const data = Float32Array.of(1, 2, 3, 4, 5, 6);
  const x = kn.array(data, { shape: [2, 3] });
  assert.deepEqual(x.tolist(), [[1, 2, 3], [4, 5, 6]]); // prettier-ignore
  data[0] = 100;
  assert.equal(x.slice(0, 0).item(), 1, 'the array is a copy');
});

inEveryForm('kn.zeros([2, 3]) ones full([2],7) arange(0,10,2) linspace eye zerosLike onesLike', {
  inputs: matrix,
  code: ({ x }) => ({
    zeros: kn.zeros([2, 3]),
    ones: kn.ones([2]),
    full: kn.full([2], 7),
    arange: kn.arange(0, 10, 2),
    linspace: kn.linspace(0, 1, 5),
    eye: kn.eye(2),
    zerosLike: kn.zerosLike(x),
    onesLike: kn.onesLike(x).mul(x),
  }),
  gives: {
    zeros: [[0, 0, 0], [0, 0, 0]],
    ones: [1, 1],
    full: [7, 7],
    arange: [0, 2, 4, 6, 8],
    linspace: [0, 0.25, 0.5, 0.75, 1],
    eye: [[1, 0], [0, 1]],
    zerosLike: [[0, 0], [0, 0]],
    onesLike: [[1, 2], [3, 4]],
  },
}); // prettier-ignore

inEveryForm('kn.random.seed(42): equal seeds give equal numbers, fresh ones at each call', {
  inputs: matrix,
  code: ({ x }) => ({
    normal: kn.random.normal([2, 3]),
    uniform: kn.random.uniform([4]).mul(x.sum()),
    randint: kn.random.randint(0, 6, [5]),
    bernoulli: kn.random.bernoulli([5]),
    categorical: kn.random.categorical(x),
    permutation: kn.random.permutation(5),
  }),
});

test('kn.random: normal uniform randint bernoulli categorical permutation draw what they say', () => {
  kn.random.seed(42);
  const count = 20_000;
  const normal = kn.random.normal([count]);
  const uniform = kn.random.uniform([count]);
  const die = kn.random.randint(0, 6, [count]);
  const coin = kn.random.bernoulli([count], { p: 0.25 });
  const category = kn.random.categorical(kn.log(kn.array([0.2, 0.8])), { shape: [count] });
  const order = kn.random.permutation(50).tolist() as number[];
  // Five standard deviations of a mean: sigma / sqrt(count) <= 1.71 / 141.
  near(normal.mean().item(), 0, 0.036);
  near(normal.square().mean().item(), 1, 0.05);
  near(uniform.mean().item(), 0.5, 0.011);
  near(die.mean().item(), 2.5, 0.06);
  near(coin.astype('float32').mean().item(), 0.25, 0.016);
  near(category.astype('float32').mean().item(), 0.8, 0.015);
  assert.deepEqual([...order].map(Number).sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i)); // prettier-ignore
  assert.deepEqual([die.dtype, coin.dtype, normal.dtype], ['int32', 'bool', 'float32']);
  assert.ok(Number(die.max().item()) === 5 && Number(die.min().item()) === 0);
});

for (const dtype of kn.dtypes) {
  inEveryForm(`dtypes: ${dtype}; int64 reads as BigInt64Array`, {
    inputs: () => ({ x: kn.array([0, 1, 1], { dtype }) }),
    code: ({ x }) => ({ x, again: kn.concat([x, x]), cast: x.astype('float64').mul(2) }),
  });
}

test('dtypes are the nine of the contract, and read as typed arrays', () => {
  const types = {
    float32: Float32Array, float64: Float64Array, float16: Float32Array, bfloat16: Float32Array,
    int8: Int8Array, uint8: Uint8Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array,
  }; // prettier-ignore
  assert.deepEqual([...kn.dtypes].sort(), Object.keys(types).sort());
  for (const dtype of kn.dtypes) {
    const data = kn.ones([2], { dtype }).dataSync();
    assert.ok(data instanceof types[dtype], dtype);
    assert.deepEqual([...data].map(Number), [1, 1]);
  }
});

inEveryForm('JavaScript numbers are weakly typed in arithmetic', {
  inputs: () => ({
    i: kn.array([1, 2], { dtype: 'int8' }),
    h: kn.array([1, 2], { dtype: 'float16' }),
    d: kn.array([1, 2], { dtype: 'float64' }),
  }),
  code: ({ i, h, d }) => [i.add(1), i.mul(1.5), h.mul(1.5), d.add(0.1), kn.sub(1, i)],
  gives: [[2, 3], [1.5, 3], [1.5, 3], [1.1, 2.1], [0, -1]],
}); // prettier-ignore

test('JavaScript numbers are weakly typed: an integer array and a fraction make float32', () => {
  const i = kn.array([1, 2], { dtype: 'int8' });
  assert.deepEqual(
    [i.add(1).dtype, i.mul(1.5).dtype, kn.array([1], { dtype: 'float16' }).mul(1.5).dtype],
    ['int8', 'float32', 'float16'],
  );
});

inEveryForm('Comparison and logic return `bool`', {
  inputs: () => ({ x: kn.array([1, 2, 3]), y: kn.array([3, 2, 1]) }),
  code: ({ x, y }) => [
    x.equal(y), x.notEqual(y), x.less(y), x.lessEqual(y), x.greater(y), x.greaterEqual(y),
    x.less(2).logicalAnd(y.greater(2)), x.less(2).logicalOr(y.less(2)), x.less(2).logicalXor(y.less(2)),
    x.less(2).logicalNot(), kn.isNaN(x), kn.isFinite(x),
  ],
  gives: [
    [false, true, false], [true, false, true], [true, false, false], [true, true, false], [false, false, true],
    [false, true, true], [true, false, false], [true, false, true], [true, false, true], [false, true, true],
    [false, false, false], [true, true, true],
  ],
}); // prettier-ignore

test('x.shape dtype size ndim device', () => {
  const x = kn.zeros([2, 3, 4], { dtype: 'int32' });
  assert.deepEqual([x.shape, x.dtype, x.size, x.ndim, x.device], [[2, 3, 4], 'int32', 24, 3, kn.config.device]); // prettier-ignore
});

test('await x.data() (a typed array), x.dataSync(), x.item(), x.tolist()', async () => {
  const x = kn.array([[1, 2], [3, 4]]); // prettier-ignore
  assert.deepEqual(await x.data(), Float32Array.of(1, 2, 3, 4));
  const data = x.dataSync();
  data.fill(0 as never);
  assert.deepEqual(x.tolist(), [[1, 2], [3, 4]], 'what is read is a copy'); // prettier-ignore
  assert.equal(x.slice(1, 0).item(), 3);
  assert.equal(kn.array([5n]).item(), 5n);
  assert.equal(kn.array([true]).item(), true);
  assert.equal(kn.array(7).tolist(), 7);
});

test('x.toString() (NumPy-like; also used by `console.log`)', () => {
  const x = kn.array([[1, 2.5], [3, 4]]); // prettier-ignore
  assert.equal(x.toString(), 'array([[1. , 2.5],\n       [3. , 4. ]])');
  assert.equal(inspect(x), x.toString());
  assert.equal(`${x}`, x.toString());
  assert.match(kn.arange(5000).toString(), /\.\.\./);
  assert.equal(String(kn.array([-0, NaN, -Infinity])), 'array([ -0.,  nan, -inf])');
});

test('Every operator exists as a function `kn.add(a, b)` and, where natural, as a method', () => {
  const [a, b] = [kn.array([1, 2]), kn.array([3, 4])];
  assert.deepEqual([kn.add(a, b).tolist(), a.add(b).tolist()], [[4, 6], [4, 6]]); // prettier-ignore
  assert.deepEqual([kn.concat([a, b]).tolist(), kn.sum(a).item(), a.sum().item()], [[1, 2, 3, 4], 3, 3]); // prettier-ignore
});

inEveryFormWithGradients("Broadcasting is NumPy's", {
  inputs: (n) => ({
    x: kn.arange(n).reshape([n, 1]),
    y: kn.array([[10, 20]]),
    s: kn.array(100),
  }),
  code: ({ x, y, s }) => x.add(y).mul(s),
  axes: { x: ['n', null] },
  gives: [[1000, 2000], [1100, 2100], [1200, 2200]],
  gradients: { x: [[200], [200], [200]], y: [[300, 300]], s: 96 },
}); // prettier-ignore

inEveryForm('Operators never change their inputs', {
  inputs: () => ({ x: kn.array([3, 1, 2]) }),
  code: ({ x }) => {
    const results = [x.add(1), x.sort(), x.neg(), x.reshape([3, 1]).exp(), kn.flip(x), x.cumsum(0)];
    return { results, x, view: x.slice([1, 3]) };
  },
});

test('Operators never change their inputs: nor do captured graphs that write their results in place', () => {
  const x = kn.arange(1000);
  const before = x.tolist();
  const f = kn.hybridize((v: kn.NDArray) => v.add(1).mul(2).sqrt().sub(v));
  for (let i = 0; i < 3; i++) f(x);
  assert.deepEqual(x.tolist(), before);
});

inEveryFormWithGradients('Reductions take (axis?: number | number[], { keepdims })', {
  inputs: cube,
  code: ({ x }) => [
    x.sum(), x.sum(0), x.sum([0, 2]), x.mean(-1, { keepdims: true }), x.max([1, 2], { keepdims: true }),
    x.sum([]),
  ],
}); // prettier-ignore

test('Reductions keep the reduced axes with size one when keepdims is set', () => {
  const { x } = cube();
  assert.deepEqual(
    [x.sum([0, 2], { keepdims: true }).shape, x.sum([0, 2]).shape, x.sum(undefined, { keepdims: true }).shape],
    [[1, 3, 1], [3], [1, 1, 1]],
  ); // prettier-ignore
});

inEveryFormWithGradients('x.slice: a number drops the axis, [start, stop?, step?] is a range, null adds an axis, ":" keeps one, "..." fills', {
  inputs: cube,
  code: ({ x }) => [
    x.slice(1), x.slice(':', -1), x.slice('...', 0), x.slice(null, 0, 0), x.slice(0, [1, 3], [0, 4, 2]),
    x.slice(0, 0, [-3]), x.slice(0, 0, [3, 0, -1]), x.slice(0, [-2], '...'), x.slice(0, [3], 0),
  ],
  gives: [
    [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]],
    [[8, 9, 10, 11], [20, 21, 22, 23]],
    [[0, 4, 8], [12, 16, 20]],
    [[0, 1, 2, 3]],
    [[4, 6], [8, 10]],
    [1, 2, 3],
    [3, 2, 1],
    [[4, 5, 6, 7], [8, 9, 10, 11]],
    [],
  ],
}); // prettier-ignore

inEveryFormWithGradients('`x.take(indices, { axis })`, `gather`, `scatterAdd`, `where`', {
  inputs: () => ({ x: kn.array([[1, 2], [3, 4]]), i: kn.array([[1, 0], [0, 0]], { dtype: 'int32' }) }),
  code: ({ x, i }) => [
    x.take([1, 1, 0], { axis: 0 }), x.take(i, { axis: 1 }).sum(), kn.gather(x, i, { axis: 0 }),
    kn.scatterAdd(kn.zeros([2, 2]), i, x, { axis: 1 }), kn.where(x.greater(2), x, x.neg()),
  ],
}); // prettier-ignore

test('Mistakes are instances of `kn.KaonError` with `code`, `op`, `expected`, `actual` and the `source` line', () => {
  const x = kn.zeros([2, 3]);
  refused(() => x.matmul(kn.zeros([2])), { kind: kn.ShapeError, op: 'matmul', says: /\[2, 3\]/ }, [x]); // prettier-ignore
  refused(() => kn.array([1], { dtype: 'float8' as never }), { kind: kn.DTypeError, op: 'array', says: 'no such dtype' }); // prettier-ignore
  refused(() => kn.array([[1], [2, 3]]), { kind: kn.ShapeError, op: 'array', says: 'one length' });
  refused(() => kn.array(new Float32Array(5), { shape: [2, 3] }), { kind: kn.ShapeError, op: 'array', says: 'does not fill' }); // prettier-ignore
  refused(() => kn.full([2], 300, { dtype: 'uint8' }), { kind: kn.DTypeError, op: 'full', says: '300' }); // prettier-ignore
  refused(() => x.item(), { kind: kn.ArgumentError, op: 'item', says: 'one element' }, [x]);
  refused(() => kn.arange(0, 1, 0), { kind: kn.ArgumentError, op: 'arange', says: 'step' });
  refused(() => kn.random.seed(0.5), {
    kind: kn.ArgumentError,
    op: 'random.seed',
    says: 'integer',
  });
  refused(() => kn.random.bernoulli([2], { p: 2 }), { kind: kn.ArgumentError, op: 'random.bernoulli', says: '0 to 1' }); // prettier-ignore
  refused(() => kn.random.normal([-1]), { kind: kn.ShapeError, op: 'randomNormal', says: '-1' });
  refused(() => kn.random.normal([2], { dtype: 'int32' }), { kind: kn.DTypeError, op: 'randomNormal', says: 'int32' }); // prettier-ignore
  refused(() => kn.random.categorical(kn.array(1)), { kind: kn.ShapeError, op: 'random.categorical', says: 'axis' }); // prettier-ignore
});

const pair = (): { x: kn.NDArray; y: kn.NDArray } => ({ x: kn.ones([2, 3]), y: kn.ones([4]) });

refusedInEveryForm('Mistakes: shapes that do not broadcast', pair, ({ x, y }) => x.add(y), {
  kind: kn.ShapeError,
  op: 'add',
  says: /\[2, 3\].*\[4\]/s,
});
refusedInEveryForm('Mistakes: an axis that is not there', pair, ({ x }) => x.sum(2), {
  kind: kn.ShapeError,
  op: 'sum',
  says: '2',
});
refusedInEveryForm('Mistakes: an index beyond the end', pair, ({ x }) => x.slice(5), {
  kind: kn.ArgumentError,
  op: 'slice',
  says: '5',
});
refusedInEveryForm('Mistakes: a size that does not fit', pair, ({ x }) => x.reshape([4, 2]), {
  kind: kn.ShapeError,
  op: 'reshape',
  says: '[4, 2]',
});
refusedInEveryForm(
  'Mistakes: a dtype that an operator does not take',
  pair,
  ({ x }) => kn.bitwiseAnd(x, x),
  {
    kind: kn.DTypeError,
    op: 'bitwiseAnd',
    says: 'float32',
  },
);
