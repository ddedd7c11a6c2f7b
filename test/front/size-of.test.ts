import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { refuses } from './support.js';

/** Calls `f` with arrays of several sizes; returns how many traces that took. */
function same(
  f: (x: kn.NDArray) => kn.NDArray,
  shapes: readonly (readonly number[])[],
  dynamic: kn.DynamicAxes,
): number {
  const captured = kn.hybridize(f, { dynamic });
  for (const shape of [...shapes, ...shapes]) {
    const x = kn.random
      .normal([...shape])
      .mul(8)
      .round(); // sums of whole numbers are exact
    const [actual, expected] = [captured(x), f(x)];
    assert.equal(actual.dtype, expected.dtype);
    assert.deepEqual(actual.tolist(), expected.tolist());
  }
  return captured.explain().traces.length;
}

const table = kn.random.normal([20, 4]).mul(8).round();

test('a size of captured code goes wherever sizes go, and meets the axis it came from', () => {
  const bodies: readonly ((x: kn.NDArray) => kn.NDArray)[] = [
    (x) => kn.zeros([kn.sizeOf(x, 0), 4]).add(x),
    (x) => kn.ones([kn.sizeOf(x, -2), 1]).mul(x),
    (x) => kn.full(kn.sizeOf(x, 0), 2).add(x.sum(1)),
    (x) => kn.arange(kn.sizeOf(x, 0)).add(x.sum(1)),
    (x) => kn.arange(1, kn.sizeOf(x, 0), 2, { dtype: 'int32' }),
    (x) => x.reshape([2, 2, kn.sizeOf(x, 0)]).sum([0, 1]).add(x.sum(1)),
    (x) => table.slice([0, kn.sizeOf(x, 0)]).add(x),
    (x) => x.sum().div(kn.sizeOf(x, 0)),
    (x) => kn.arange(x.shape[0]).add(x.sum(1)),
    (x) => kn.zeros([x.shape[0], 3]),
    (x) => x.sum().div(x.size),
    (x) => kn.arange(kn.shapeOf(x).slice(0)).add(x.sum(1)),
    (x) => x.reshape(kn.concat([kn.shapeOf(x).slice([0, 1]), [2, 2]])).sum([1, 2]).add(x.sum(1)),
    (x) => table.take(kn.arange(kn.shapeOf(x).slice(0), { dtype: 'int32' }), { axis: 0 }).add(x),
    (x) => kn.broadcastTo(x.sum(), kn.shapeOf(x)).add(x),
    (x) => kn.zeros(kn.shapeOf(x).prod().reshape([1])).add(x.reshape([-1])),
    (x) => x.slice([null, kn.shapeOf(x).slice(0).floorDivide(2)]),
    (x) => x.pad([[kn.sizeOf(x, 0), 1], [0, 2]]),
    (x) => x.pad([[1, kn.sizeOf(x, 0)], [0, 0]], { mode: 'reflect' }).sum(1),
    (x) => kn.grad((y: kn.NDArray) => y.pad([[0, kn.sizeOf(x, 0)], [2, 0]], { mode: 'wrap' }).square().sum())(x),
  ]; // prettier-ignore
  bodies.forEach((body, i) => {
    const traces = same(body, [[2, 4], [6, 4], [3, 4], [10, 4]], [['n', null]]); // prettier-ignore
    assert.equal(traces, 1, `body ${i}`);
  });
});

test('ranges that begin at a size, or count in fractions, compute otherwise for numbers', () => {
  for (const body of [
    (x: kn.NDArray) => kn.arange(kn.sizeOf(x, 0), -1, -1).slice([1]).add(x.sum(1)),
    (x: kn.NDArray) => kn.arange(0, kn.sizeOf(x, 0), 0.5).slice([null, null, 2]),
  ]) {
    same(body, [[2, 4], [6, 4], [3, 4], [10, 4]], [['n', null]]); // prettier-ignore
  }
});

test('positions are added to hidden states of any batch and time', () => {
  const position = new kn.nn.Embedding(50, 4);
  position.initialize();
  const embedded = (h: kn.NDArray): kn.NDArray =>
    h.add(position.call(kn.arange(kn.shapeOf(h).slice(1), { dtype: 'int32' })));
  assert.equal(same(embedded, [[2, 5, 4], [3, 7, 4], [1, 9, 4]], [['b', 't', null]]), 1); // prettier-ignore
});

test('gradients flow through code that speaks of its sizes', () => {
  const loss = (x: kn.NDArray): kn.NDArray => {
    const heads = x.reshape(kn.concat([kn.shapeOf(x).slice([0, 2]), [2, 2]])).swapaxes(1, 2);
    const scores = kn.matmul(heads, heads.swapaxes(2, 3)).div(kn.sizeOf(x, 1));
    return kn.matmul(scores, heads).swapaxes(1, 2).reshape(kn.shapeOf(x)).mul(x).sum();
  };
  const gradient = kn.hybridize((x: kn.NDArray) => kn.grad(loss)(x), {
    dynamic: [['b', 't', null]],
  });
  for (const shape of [[2, 5, 4], [3, 7, 4]]) {
    const x = kn.random.normal(shape);
    const difference = gradient(x).sub(kn.grad(loss)(x)).abs().max();
    assert.ok(Number(difference.item()) < 1e-5);
  } // prettier-ignore
  assert.equal(gradient.explain().traces.length, 1);
});

test('sizes beyond what they are taken from are refused as eagerly', () => {
  const f = (x: kn.NDArray): kn.NDArray => table.slice([0, kn.sizeOf(x, 0)]).add(x);
  const captured = kn.hybridize(f, { dynamic: [['n', null]] });
  assert.equal(captured(kn.ones([20, 4])).shape[0], 20);
  for (const call of [f, captured]) {
    refuses(() => call(kn.ones([21, 4])), kn.ShapeError, 'the shapes do not broadcast');
  }
});

test('code that decides by a size is right for each', () => {
  let runs = 0;
  const f = kn.hybridize((x: kn.NDArray) => (runs++, x.shape[0] === 4 ? x.add(1) : x.mul(2)), {
    dynamic: [['n']],
  });
  const sums = [4, 5, 4, 6, 4, 5].map((n) =>
    f(kn.ones([n]))
      .sum()
      .item(),
  );
  assert.deepEqual(sums, [8, 10, 8, 12, 8, 10]);
  const before = runs;
  for (const n of [4, 5, 6]) f(kn.ones([n]));
  assert.ok(runs - before <= 3);
});

test('arithmetic of the host on a size that stays open is an error with the line', () => {
  for (const body of [
    (x: kn.NDArray) => x.mul(x.shape[0] * 2),
    (x: kn.NDArray) => x.mul(x.shape[0] + 1),
    (x: kn.NDArray) => (x.shape[0] > 3 ? x : x.neg()),
    (x: kn.NDArray) => x.mul(Math.sqrt(x.shape[0])),
    (x: kn.NDArray) => x.mul(x.size / 2),
  ]) {
    const f = kn.hybridize(body, { dynamic: [['n']] });
    const error = refuses(
      () => f(kn.ones([4])),
      kn.TraceError,
      'symbolic is needed as a number',
      'n',
    );
    assert.match(error.source ?? '', /size-of\.test/);
  }
});

test('eagerly a size is a number', () => {
  const x = kn.ones([3, 4]);
  assert.deepEqual([kn.sizeOf(x, 0), kn.sizeOf(x, -1)], [3, 4]);
  refuses(() => kn.sizeOf(x, 2), kn.ShapeError, 'axis 2 does not exist');
  refuses(() => kn.sizeOf(3 as never, 0), kn.ArgumentError, 'only arrays have axes');
});
