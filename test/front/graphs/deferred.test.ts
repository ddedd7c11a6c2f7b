import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

const { autograd } = kn;

test('lazy arrays know shape and dtype, and are computed when read', () => {
  const x = kn.arange(80).reshape([8, 10]);
  const { y, z } = kn.deferredCompute(() => ({ y: x.add(5).mul(x.add(5)), z: x.pow(2) }));
  assert.deepEqual(
    [kn.isDeferred(y), y.shape, y.dtype, y.size, y.ndim],
    [true, [8, 10], 'float32', 80, 2],
  );
  assert.deepEqual(y.tolist(), x.add(5).mul(x.add(5)).tolist());
  assert.deepEqual([kn.isDeferred(y), kn.isDeferred(z)], [false, true]);
});

test('what several results need is computed once', () => {
  const x = kn.array([1, 2]);
  kn.random.seed(1);
  const { shared, a, b } = kn.deferredCompute(() => {
    const shared = kn.random.normal([2]);
    return { shared, a: shared.mul(2), b: shared.add(x) };
  });
  near(a.div(2).tolist(), shared.tolist());
  near(b.sub(x).tolist(), shared.tolist());
});

test('lazy arrays go into ordinary operators and other captures, before and after they were read', () => {
  const x = kn.array([1, 2]);
  const y = kn.deferredCompute(() => x.mul(3));
  assert.deepEqual(y.add(1).tolist(), [4, 7]);
  const z = kn.deferredCompute(() => y.add(y));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { z } });
  assert.deepEqual(graph.run({ x: kn.array([10, 20]) }).z.tolist(), [60, 120]);
  assert.deepEqual(z.tolist(), [6, 12]);
  const lazy = kn.deferredCompute(() => x.sub(1));
  const later = kn.deferredCompute(() => lazy.mul(lazy));
  assert.deepEqual(later.tolist(), [0, 1]);
  assert.equal(kn.isDeferred(lazy), false);
});

test('compute triggers several at once', () => {
  const [a, b] = kn.deferredCompute(() => [kn.ones([2]).mul(2), kn.ones([1]).mul(3)]);
  kn.compute(a, [b]);
  assert.deepEqual(
    [kn.isDeferred(a), kn.isDeferred(b), a.tolist(), b.tolist()],
    [false, false, [2, 2], [3]],
  );
});

test("inside, reading computes, and the value is a constant of the user's", () => {
  const x = kn.array([1, 2]);
  const y = kn.deferredCompute(() => x.mul(Number(x.sum().item())));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  assert.deepEqual(graph.run({ x: kn.array([10, 20]) }).y.tolist(), [30, 60]);
});

test('nested scopes join the outer one', () => {
  const x = kn.array([2]);
  const y = kn.deferredCompute(() => kn.deferredCompute(() => x.mul(3)).add(1));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  assert.deepEqual(graph.run({ x: [5] }).y.tolist(), [16]);
});

test('gradients may be recorded inside', () => {
  const x = kn.array([1, 2, 3]);
  x.attachGrad();
  const { loss, g } = kn.deferredCompute(() => {
    const loss = autograd.record(() => x.pow(3).sum());
    loss.backward();
    return { loss, g: kn.grad((v: kn.NDArray) => v.mul(v).sum())(x) };
  });
  assert.ok(kn.isDeferred(loss) && kn.isDeferred(x.grad!));
  near([x.grad!.tolist(), loss.item(), g.tolist()], [[3, 12, 27], 36, [2, 4, 6]]);
});

test('sizes that the data decides are found when read', () => {
  const x = kn.array([1, -2, 3]);
  const { shape, y } = kn.deferredCompute(() => {
    const y = x.reshape([3, 1]).add(0);
    return { y, shape: y.shape };
  });
  assert.deepEqual(
    [shape, y.shape],
    [
      [3, 1],
      [3, 1],
    ],
  );
});

test('lazy and captured arrays may not be changed in place', () => {
  const x = kn.array([1]);
  const y = kn.deferredCompute(() => {
    const y = x.add(1);
    refuses(() => y.assign(kn.array([5])), kn.GraphError, 'lazy array cannot be changed');
    refuses(() => x.assign(kn.array([5])), kn.TraceError, 'in deferred code');
    return y;
  });
  refuses(() => y.assign(kn.array([5])), kn.GraphError, 'lazy array cannot be changed');
  const error = refuses(() => x.assign(kn.array([5])), kn.TraceError, 'captured code reads');
  assert.match(error.message, /deferred\.test/);
  assert.deepEqual(y.tolist(), [2]);
  x.assign(kn.array([5]));
  y.assign(kn.array([9]));
  assert.deepEqual([x.tolist(), y.tolist()], [[5], [9]]);
});

test('a failure while computing names the operator and its line', () => {
  const x = kn.array([[1, 2]]);
  refuses(
    () => kn.deferredCompute(() => x.add(kn.array([1, 2, 3]))),
    kn.ShapeError,
    'broadcast',
    'deferred.test',
  );
});

test('an asynchronous function cannot be deferred', () => {
  refuses(() => kn.deferredCompute(async () => kn.array([1])), kn.TraceError, 'asynchronous');
});
