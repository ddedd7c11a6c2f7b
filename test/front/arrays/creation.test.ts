import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

test('array takes numbers, lists, typed arrays and arrays', () => {
  assert.equal(kn.array([1, 2]).dtype, 'float32');
  assert.equal(kn.array([1, 2], { dtype: 'int32' }).dtype, 'int32');
  assert.equal(kn.array([true]).dtype, 'bool');
  assert.equal(kn.array([1n]).dtype, 'int64');
  assert.equal(kn.array(new Float64Array(2)).dtype, 'float64');
  assert.equal(kn.array(new Uint8ClampedArray(2)).dtype, 'uint8');
  assert.deepEqual(kn.array(new Float32Array(6), { shape: [2, 3] }).shape, [2, 3]);
  assert.deepEqual(kn.array([]).shape, [0]);
  assert.deepEqual(kn.array([[], []]).shape, [2, 0]);
  const x = kn.array([1, 2]);
  const copy = kn.array(x, { dtype: 'int32', shape: [2, 1] });
  assert.deepEqual([copy.dtype, copy.tolist()], ['int32', [[1], [2]]]);
});

test('an array does not follow the typed array it was made of', () => {
  const source = Float32Array.of(1, 2);
  const x = kn.array(source);
  source[0] = 9;
  assert.deepEqual(x.tolist(), [1, 2]);
});

test('array refuses what it cannot hold', () => {
  refuses(() => kn.array([[1, 2], [3]]), kn.ShapeError, 'one length at each level', '[1]');
  refuses(() => kn.array([1.5], { dtype: 'int32' }), kn.DTypeError, '1.5', 'int32');
  refuses(() => kn.array([300], { dtype: 'uint8' }), kn.DTypeError, '300');
  refuses(() => kn.array(['a'] as never), kn.ArgumentError, 'cannot hold "a"');
  refuses(() => kn.array([1, 2, 3], { shape: [2] }), kn.ShapeError, 'does not fill the shape');
  refuses(() => kn.array([1], { dtype: 'float' as never }), kn.DTypeError, 'no such dtype');
});

test('zeros, ones and full fill a shape', () => {
  assert.deepEqual(kn.zeros([2, 2]).tolist(), [
    [0, 0],
    [0, 0],
  ]);
  assert.deepEqual(kn.ones(3, { dtype: 'int64' }).tolist(), [1n, 1n, 1n]);
  assert.deepEqual(kn.full([2], 7).tolist(), [7, 7]);
  assert.deepEqual(kn.full([2], true).tolist(), [true, true]);
  assert.deepEqual(kn.full([1], 0.5, { dtype: 'float16' }).tolist(), [0.5]);
  assert.deepEqual(kn.zeros([]).tolist(), 0);
  assert.deepEqual(kn.zeros([0, 3]).shape, [0, 3]);
  refuses(() => kn.zeros([-1]), kn.KaonError, '-1');
  refuses(() => kn.zeros([1.5]), kn.KaonError, '1.5');
});

test('the Like functions follow an array', () => {
  const x = kn.array([[1, 2]], { dtype: 'int32' });
  assert.deepEqual([kn.zerosLike(x).dtype, kn.zerosLike(x).tolist()], ['int32', [[0, 0]]]);
  assert.deepEqual(kn.onesLike(x, { dtype: 'float64' }).dtype, 'float64');
  assert.deepEqual(kn.fullLike(x, 3).tolist(), [[3, 3]]);
});

test('arange counts like NumPy', () => {
  assert.deepEqual(kn.arange(3).tolist(), [0, 1, 2]);
  assert.deepEqual(kn.arange(0, 10, 2).tolist(), [0, 2, 4, 6, 8]);
  assert.deepEqual(kn.arange(5, 2, -1).tolist(), [5, 4, 3]);
  assert.deepEqual(kn.arange(2, 2).tolist(), []);
  assert.deepEqual(kn.arange(3, { dtype: 'int64' }).tolist(), [0n, 1n, 2n]);
  assert.equal(kn.arange(3).dtype, 'float32');
  near(kn.arange(0, 1, 0.25).tolist(), [0, 0.25, 0.5, 0.75]);
  refuses(() => kn.arange(0, 3, 0), kn.ArgumentError, 'no length', 'arange(0, 3, 0)');
  refuses(() => kn.arange(Infinity), kn.ArgumentError, 'no length');
});

test('linspace includes both ends', () => {
  near(kn.linspace(0, 1, 5).tolist(), [0, 0.25, 0.5, 0.75, 1]);
  near(kn.linspace(0, 1, 4, { endpoint: false }).tolist(), [0, 0.25, 0.5, 0.75]);
  assert.deepEqual(kn.linspace(3, 9, 1).tolist(), [3]);
  assert.deepEqual(kn.linspace(3, 9, 0).tolist(), []);
  assert.equal(kn.linspace(0, 1).size, 50);
  refuses(() => kn.linspace(0, 1, -1), kn.ArgumentError, 'number of points');
});

test('eye has ones on a diagonal', () => {
  assert.deepEqual(kn.eye(2).tolist(), [
    [1, 0],
    [0, 1],
  ]);
  assert.deepEqual(kn.eye(2, 3, { k: 1 }).tolist(), [
    [0, 1, 0],
    [0, 0, 1],
  ]);
});

test('an array that no memory can hold is a DeviceError', () => {
  assert.throws(() => kn.zeros([1e9, 1e9]), kn.DeviceError);
});

test('options that there are not, and arguments of other kinds, are refused', () => {
  const loose = (options: object): never => options as never;
  const mistakes: readonly (readonly [string, string, () => unknown])[] = [
    ['array', 'did you mean dtype', () => kn.array([1], loose({ dytpe: 'int32' }))],
    ['zeros', 'did you mean dtype', () => kn.zeros([1], loose({ type: 'int32' }))],
    ['ones', 'options', () => kn.ones([1], 'int32' as never)],
    ['full', 'did you mean dtype', () => kn.full([1], 2, loose({ Dtyp: 'int32' }))],
    ['eye', 'there is no option offset', () => kn.eye(2, 2, loose({ offset: 1 }))],
    ['linspace', 'did you mean endpoint', () => kn.linspace(0, 1, 3, loose({ end_point: false }))],
    ['linspace', 'start', () => kn.linspace(true as never, 1)],
    ['linspace', 'stop', () => kn.linspace(0, Infinity)],
    ['arange', 'did you mean dtype', () => kn.arange(3, loose({ dtyp: 'int32' }))],
    ['arange', 'true', () => kn.arange(true as never)],
    ['arange', 'true', () => kn.arange(0, true as never)],
    ['arange', 'the step', () => kn.arange(0, 4, true as never)],
    ['arange', 'the step', () => kn.arange(0, 4, '2' as never)],
    ['arange', '"3"', () => kn.arange('3' as never)],
    ['arange', 'null', () => kn.arange(null as never)],
  ]; // prettier-ignore
  for (const [op, words, act] of mistakes) {
    assert.throws(act, (error: unknown) => {
      assert.ok(error instanceof kn.ArgumentError, String(error));
      assert.equal(error.op, op);
      assert.ok(error.message.includes(words), error.message);
      return true;
    });
  }
  assert.deepEqual(kn.arange(1, 4, undefined, { dtype: 'int32' }).tolist(), [1, 2, 3]);
  assert.deepEqual(kn.arange(1, 6, 2, { dtype: 'int32' }).tolist(), [1, 3, 5]);
  assert.deepEqual(kn.arange(1, 4, { dtype: 'int32' }).tolist(), [1, 2, 3]);
});

test('a copy of an array has its dtype, its elements and no later change of it', () => {
  for (const [dtype, value] of [['bool', true], ['int8', -3], ['float16', -0], ['float64', NaN]] as const) {
    const given = kn.array([value as number], { dtype });
    const copies = [kn.array(given), kn.deferredCompute(() => kn.array(given))];
    for (const made of copies) {
      assert.equal(made.dtype, dtype);
      assert.deepEqual(made.tolist(), [value]);
    }
    given.assign(kn.zeros([1], { dtype }));
    for (const made of copies) assert.deepEqual(made.tolist(), [value]);
  } // prettier-ignore
});
