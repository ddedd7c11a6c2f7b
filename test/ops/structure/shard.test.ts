import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import * as kn from '../../../src/index.js';
import { toStableHlo } from '../../../src/stablehlo.js';

/** Divisions in the text of a graph, in order. */
function divisions(graph: kn.StaticGraph): readonly string[] {
  const { text } = toStableHlo(graph);
  return [...text.matchAll(/"kaon\.shard", backend_config = "([^"]*)"/g)].map(([, axes]) => axes);
}

test('a division names one axis of a mesh, or none, for each axis', () => {
  const x = kn.ones([2, 3]);
  assert.throws(() => kn.shard(x, ['data']), ShapeError);
  assert.throws(() => kn.shard(x, ['data', null, null]), ShapeError);
  assert.throws(() => kn.shard(x, ['data', 'data']), ArgumentError);
  assert.throws(() => kn.shard(x, ['data', 'a"b']), ArgumentError);
  assert.throws(() => kn.shard(x, ['data', '']), ArgumentError);
  assert.throws(() => kn.shard(x, 'data' as never), ArgumentError);
});

test('on one machine it is its operand, and its gradient passes', () => {
  const x = kn.array([[1, 2, 3]]);
  const divided = kn.hybridize((y: kn.NDArray) =>
    kn.shard(y.mul(2), ['data', null]).square().sum(),
  );
  assert.deepEqual(divided(x).item(), 56);
  assert.deepEqual(kn.grad(divided)(x).tolist(), [[8, 16, 24]]);
});

test('the text divides the array, and its gradient alike, inside of loops too', () => {
  const step = kn.hybridize(({ x }: { readonly x: kn.NDArray }) => {
    x.attachGrad();
    const loss = kn.autograd.record(() =>
      kn.shard(x.tanh(), ['data', null, 'model']).square().sum(),
    );
    const [gradient] = kn.autograd.grad(loss, [x]);
    return { loss, gradient };
  });
  const graph = step.graphFor({ x: kn.ones([4, 2, 6]) });
  assert.deepEqual(divisions(graph), ['data,?,model', 'data,?,model']);

  const rows = kn.hybridize(
    (x: kn.NDArray) =>
    kn.foreach((row: kn.NDArray, sum: kn.NDArray) => [kn.shard(row.exp(), ['data']), sum.add(row)] as const, x, kn.zeros([3]))[0], // prettier-ignore
  );
  const x = kn.random.normal([5, 3]);
  // What does not depend on the state leaves the loop: all rows at once, divided as each of them.
  assert.deepEqual(divisions(rows.graphFor(x)), ['?,data']);
  assert.deepEqual(rows(x).tolist(), x.exp().tolist());
});

test('a division of nothing is not written', () => {
  const open = kn.hybridize((x: kn.NDArray) => kn.shard(x.mul(2), [null]));
  assert.deepEqual(divisions(open.graphFor(kn.ones([3]))), []);
});
