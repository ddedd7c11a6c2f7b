import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

test('an array knows its shape, dtype, size, rank and device', () => {
  const x = kn.array([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  assert.deepEqual(x.shape, [2, 3]);
  assert.equal(x.dtype, 'float32');
  assert.equal(x.size, 6);
  assert.equal(x.ndim, 2);
  assert.equal(x.device, 'cpu');
  const scalar = kn.array(7);
  assert.deepEqual([scalar.shape, scalar.size, scalar.ndim], [[], 1, 0]);
  const empty = kn.zeros([2, 0, 3]);
  assert.deepEqual([empty.shape, empty.size, empty.tolist()], [[2, 0, 3], 0, [[], []]]);
});

test('reading gives copies in the typed array of the dtype', async () => {
  const x = kn.array([1, 2]);
  const data = x.dataSync();
  assert.ok(data instanceof Float32Array);
  data[0] = 9;
  assert.deepEqual(x.tolist(), [1, 2]);
  assert.deepEqual(await x.data(), Float32Array.of(1, 2));
  assert.deepEqual(kn.array([1, 2], { dtype: 'int64' }).dataSync(), BigInt64Array.of(1n, 2n));
  assert.deepEqual(kn.array([true, false]).dataSync(), Uint8Array.of(1, 0));
  for (const dtype of ['float16', 'bfloat16'] as const) {
    assert.deepEqual(kn.array([1.5, -2], { dtype }).dataSync(), Float32Array.of(1.5, -2));
  }
});

test('item is the only element, in the type of the dtype', () => {
  assert.equal(kn.array([[3]]).item(), 3);
  assert.equal(kn.array(3, { dtype: 'int64' }).item(), 3n);
  assert.equal(kn.array(true).item(), true);
  refuses(() => kn.array([1, 2]).item(), kn.ArgumentError, 'exactly one element', '[2]');
  refuses(() => kn.zeros([0]).item(), kn.ArgumentError, 'exactly one element');
});

test('tolist nests like the shape and gives bigints for int64', () => {
  assert.deepEqual(kn.arange(6).reshape([2, 3]).tolist(), [
    [0, 1, 2],
    [3, 4, 5],
  ]);
  assert.deepEqual(kn.array([1, 2], { dtype: 'int64' }).tolist(), [1n, 2n]);
  assert.equal(kn.array(2).tolist(), 2);
});

test("the text is NumPy's", () => {
  const shown: [kn.NDArray, string][] = [
    [kn.array(7), 'array(7.)'],
    [kn.array([1, 2.5, -3]), 'array([ 1. ,  2.5, -3. ])'],
    [
      kn.array(
        [
          [1, 2],
          [3, 4],
        ],
        { dtype: 'int32' },
      ),
      'array([[1, 2],\n       [3, 4]], dtype=int32)',
    ],
    [kn.array([true, false]), 'array([ true, false], dtype=bool)'],
    [kn.zeros([0]), 'array([])'],
    [kn.zeros([2, 0], { dtype: 'int8' }), 'array([], shape=(2, 0), dtype=int8)'],
    [kn.array([NaN, Infinity, -Infinity, 1]), 'array([ nan,  inf, -inf,   1.])'],
    [kn.array([1e10, 1]), 'array([1.e+10, 1.e+00])'],
    [
      kn.arange(8).reshape([2, 2, 2]),
      'array([[[0., 1.],\n        [2., 3.]],\n\n       [[4., 5.],\n        [6., 7.]]])',
    ],
    [
      kn.arange(2000),
      'array([0.000e+00, 1.000e+00, 2.000e+00, ..., 1.997e+03, 1.998e+03,\n       1.999e+03])',
    ],
  ];
  for (const [array, text] of shown.slice(0, -1)) assert.equal(array.toString(), text);
  assert.equal(
    kn.arange(2000).toString(),
    'array([   0.,    1.,    2., ..., 1997., 1998., 1999.])',
  );
  assert.match(
    kn.zeros([100, 100]).toString(),
    /^array\(\[\[0\., 0\., 0\., \.\.\., 0\., 0\., 0\.\],\n/,
  );
});

test('console.log shows the text, and describes lazy arrays without computing them', () => {
  assert.equal(inspect(kn.array([1, 2])), 'array([1., 2.])');
  const lazy = kn.deferredCompute(() => kn.array([1, 2]).add(1));
  assert.equal(inspect(lazy), '<lazy float32[2]>');
  assert.ok(kn.isDeferred(lazy));
});

test('JavaScript operators on arrays are refused with advice, template literals work', () => {
  const x = kn.array([1, 2]);
  assert.equal(`${x}`, 'array([1., 2.])');
  const untyped: { valueOf(): number } = x as never;
  refuses(() => +untyped, kn.ArgumentError, 'JavaScript operators', 'x.add(y)');
  refuses(() => (untyped as never as number) * 2, kn.ArgumentError, 'JavaScript operators');
  refuses(() => (untyped as never as number) < 2, kn.ArgumentError, 'JavaScript operators');
});

test('astype converts like cast', () => {
  assert.deepEqual(kn.array([1.7, -1.7]).astype('int32').tolist(), [1, -1]);
  const x = kn.array([1, 2]);
  assert.equal(x.astype('float32').dtype, 'float32');
});

test('assign replaces the elements and nothing that shares them', () => {
  const x = kn.array([1, 2, 3, 4]);
  const view = x.reshape([2, 2]);
  const detached = x.detach();
  x.assign(kn.array([5, 6, 7, 8]));
  assert.deepEqual(x.tolist(), [5, 6, 7, 8]);
  assert.deepEqual(view.tolist(), [
    [1, 2],
    [3, 4],
  ]);
  assert.deepEqual(detached.tolist(), [1, 2, 3, 4]);
});

test('assign refuses other shapes, dtypes and what is no array', () => {
  const x = kn.array([1, 2]);
  refuses(() => x.assign(kn.array([1, 2, 3])), kn.ShapeError, 'another shape', 'float32[3]');
  refuses(() => x.assign(kn.array([1, 2], { dtype: 'int32' })), kn.DTypeError, 'another dtype');
  refuses(() => x.assign([1, 2] as never), kn.ArgumentError, 'not an array');
  assert.deepEqual(x.tolist(), [1, 2]);
});

test('errors carry the line of the caller', () => {
  const error = refuses(
    () => kn.array([1, 2]).add(kn.array([1, 2, 3])),
    kn.ShapeError,
    'broadcast',
  );
  assert.match(error.source ?? '', /ndarray\.test/);
  assert.equal(error.op, 'add');
});

test('numbers beside arrays are weak', () => {
  assert.equal(kn.array([1], { dtype: 'int32' }).add(2).dtype, 'int32');
  assert.equal(kn.array([1], { dtype: 'int32' }).add(2.5).dtype, 'float32');
  assert.equal(kn.array([1], { dtype: 'float64' }).mul(0.1).dtype, 'float64');
  near(kn.array([1], { dtype: 'float64' }).mul(0.1).tolist(), [0.1], 1e-16);
  assert.equal(
    kn.array([1], { dtype: 'float16' }).add(kn.array([1], { dtype: 'bfloat16' })).dtype,
    'float32',
  );
});

test('negative zero stays what it is as a number operand', () => {
  const one = kn.array([1], { dtype: 'float64' });
  assert.equal(Object.is((one.mul(0).tolist() as number[])[0], 0), true);
  assert.equal(Object.is((one.mul(-0).tolist() as number[])[0], -0), true);
});

test('JSON.stringify writes the nested lists', () => {
  const x = kn.array([[1, 2.5]]);
  assert.equal(
    JSON.stringify({ x, flags: kn.array([true, false]) }),
    '{"x":[[1,2.5]],"flags":[true,false]}',
  );
  assert.throws(() => kn.hybridize(() => JSON.stringify(x))(), kn.TraceError);
  assert.equal(JSON.stringify(kn.shapeOf(x)), '[1,2]');
  const large = kn.array([2n ** 53n]);
  refuses(() => JSON.stringify(large), kn.DTypeError, 'no number of JSON', '9007199254740992');
});

test('an array in arithmetic of JavaScript is told apart from one as a number', () => {
  const x = kn.array([1]) as never as number;
  for (const [use, actual] of [
    [() => x + 1, 'an operand'],
    [() => x * 2, 'a number'],
  ] as const) {
    refuses(use, kn.ArgumentError, 'JavaScript operators', `an array as ${actual}`);
  }
});
