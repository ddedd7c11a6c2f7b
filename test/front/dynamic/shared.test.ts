import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const x = kn.array([1, 2, 3, 4]);
const y = kn.array([10, 20, 30, 40]);
const mask = kn.array([true, false, true, true]);

test('what one mask selects of several arrays has one size, in captured code too', () => {
  const added = (a: kn.NDArray, b: kn.NDArray, m: kn.NDArray): kn.NDArray =>
    a.booleanMask(m).add(b.booleanMask(m));
  const hybrid = kn.hybridize(added);
  for (const bits of [
    [1, 0, 1, 1],
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [0, 1, 0, 0],
  ]) {
    const m = kn.array(bits, { dtype: 'bool' });
    const expected = bits.flatMap((bit, i) => (bit === 1 ? [11 * (i + 1)] : []));
    assert.deepEqual(hybrid(x, y, m).tolist(), expected);
    assert.deepEqual(kn.deferredCompute(() => added(x, y, m)).tolist(), expected);
  }
});

test('different masks give sizes of their own', () => {
  const f = kn.hybridize((m: kn.NDArray) => x.booleanMask(m).add(y.booleanMask(m.logicalNot())));
  assert.deepEqual(f(mask).tolist(), [21, 23, 24]);
  const halves = kn.array([true, true, false, false]);
  assert.deepEqual(f(halves).tolist(), [31, 42]);
  assert.throws(() => f(kn.array([true, true, true, true])), kn.ShapeError);
});

test('side-effect code may look at what has sizes of the data, call after call', () => {
  const seen: number[] = [];
  const look = kn.staticCode((r: kn.NDArray) => void seen.push(r.size));
  const f = kn.staticGraph((a: kn.NDArray, n: kn.NDArray) => {
    const r = kn.arange(n);
    look(r);
    return r.add(a);
  });
  for (const n of [2, 3, 0, 2]) {
    const result = f(kn.array(10), kn.array(n, { dtype: 'int32' }));
    assert.deepEqual(
      result.tolist(),
      Array.from({ length: n }, (_, i) => 10 + i),
    );
  }
  assert.deepEqual(seen, [2, 3, 0, 2]);
});

test('a recorded call keeps what finds the sizes of results that no gradient flows to', () => {
  const a = kn.array([1, 2]);
  a.attachGrad();
  const f = kn.hybridize((v: kn.NDArray, n: kn.NDArray) => [v.mul(2), kn.zeros(n)]);
  for (const n of [1, 3]) {
    const loss = kn.autograd.record(() => {
      const [twice, zeros] = f(a, kn.array([n], { dtype: 'int64' }));
      assert.deepEqual(zeros.shape, [n]);
      return twice.sum();
    });
    loss.backward();
    assert.deepEqual(a.grad!.tolist(), [2, 2]);
  }
});

test('sizes that are computed alike from the same arrays are one size', () => {
  const hybrid = kn.hybridize((x: kn.NDArray, y: kn.NDArray, n: kn.NDArray) =>
    x.slice([n, n.mul(2)]).add(y.slice([n, n.mul(2)])),
  );
  for (const n of [1, 2, 0]) {
    const expected = Array.from({ length: n }, (_, i) => 11 * (n + i + 1));
    assert.deepEqual(hybrid(x, y, kn.array(n, { dtype: 'int32' })).tolist(), expected);
  }
});

test('a mask selects before side-effect code and behind it', () => {
  const look = kn.staticCode((r: kn.NDArray) => void r.dataSync());
  const f = (a: kn.NDArray, m: kn.NDArray): kn.NDArray => {
    const before = a.booleanMask(m).mul(2);
    look(a);
    return before.add(a.booleanMask(m)).add(kn.zeros(m.sum().reshape([1])));
  };
  const slope = (g: typeof f, m: kn.NDArray): unknown =>
    kn
      .grad((a: kn.NDArray) => g(a, m).square().sum())(x)
      .tolist();
  const pieces = kn.staticGraph(f);
  const whole = kn.staticGraph((m: kn.NDArray) => kn.grad((a: kn.NDArray) => f(a, m).sum())(x));
  for (const bits of [[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]) {
    const m = kn.array(bits, { dtype: 'bool' });
    assert.deepEqual(pieces(x, m).tolist(), f(x, m).tolist());
    assert.deepEqual(slope(pieces, m), slope(f, m));
    assert.deepEqual(whole(m).tolist(), bits.map((bit) => 3 * bit));
  } // prettier-ignore
});

test('recordings of one trace share a size after the first of them was consumed', () => {
  // Both recordings select by the same mask: its size was decided in the first one.
  const slope = kn.grad((a: kn.NDArray) => a.booleanMask(a.greater(2)).square().sum());
  const hybrid = kn.hybridize((a: kn.NDArray) => [slope(a), slope(a)]);
  for (const each of hybrid(x)) assert.deepEqual(each.tolist(), [0, 0, 6, 8]);
});
