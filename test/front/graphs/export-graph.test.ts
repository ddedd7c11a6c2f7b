import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../support.js';

test('the same graph, whether its arrays were computed or not', () => {
  const x = kn.array([1, 2]);
  const y = kn.deferredCompute(() => x.mul(2).add(1));
  const before = kn.exportGraph({ inputs: { x }, outputs: { y } }).toString();
  y.tolist();
  assert.equal(kn.exportGraph({ inputs: { x }, outputs: { y } }).toString(), before);
});

test('an output that depends on an array not among the inputs is refused, with the line', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => x.mul(w));
  const error = refuses(
    () => kn.exportGraph({ inputs: { x }, outputs: { y } }),
    kn.GraphError,
    'depends on an array that is not among the inputs',
    'read by mul',
  );
  assert.match(error.source ?? '', /export-graph\.test/);
});

test('an input connected to no output is refused', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => {
    w.mul(2);
    return x.mul(3);
  });
  refuses(
    () => kn.exportGraph({ inputs: { x, w }, outputs: { y } }),
    kn.GraphError,
    'input w is connected to no output',
  );
});

test('an input that no recorded operator used is refused', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => x.mul(3));
  w.mul(2);
  refuses(
    () => kn.exportGraph({ inputs: { x, w }, outputs: { y } }),
    kn.GraphError,
    'input w was used by no recorded operator',
  );
});

test('an output with no recorded history is refused', () => {
  const x = kn.array([1]);
  const y = x.mul(3);
  refuses(
    () => kn.exportGraph({ inputs: { x }, outputs: { y } }),
    kn.GraphError,
    'output y has no recorded history',
  );
});

test('no outputs, other values and the same array twice are refused', () => {
  const x = kn.array([1]);
  const y = kn.deferredCompute(() => x.mul(3));
  refuses(
    () => kn.exportGraph({ inputs: { x }, outputs: {} }),
    kn.GraphError,
    'at least one output',
  );
  refuses(
    () => kn.exportGraph({ inputs: { x: 3 as never }, outputs: { y } }),
    kn.ArgumentError,
    'x is not an array',
  );
  refuses(
    () => kn.exportGraph({ inputs: { a: x, b: x }, outputs: { y } }),
    kn.GraphError,
    'given as two inputs',
    'a and b',
  );
});

test('an input may be an output, one array two outputs, and an output may use no input', () => {
  const x = kn.array([1, 2]);
  const { y, c, k } = kn.deferredCompute(() => ({
    y: x.mul(2),
    c: kn.ones([2]).add(kn.array([1, 2])),
    k: kn.array([5]),
  }));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { same: x, y, again: y, c, k } });
  const out = graph.run({ x: kn.array([3, 4]) });
  assert.deepEqual(
    Object.entries(out).map(([name, array]) => [name, array.tolist()]),
    [
      ['same', [3, 4]],
      ['y', [6, 8]],
      ['again', [6, 8]],
      ['c', [2, 3]],
      ['k', [5]],
    ],
  );
});

test('an intermediate may be the input', () => {
  const x = kn.array([1, 2]);
  const { h, y } = kn.deferredCompute(() => {
    const h = x.mul(2);
    return { h, y: h.add(1) };
  });
  const graph = kn.exportGraph({ inputs: { h }, outputs: { y } });
  assert.deepEqual(graph.run({ h: kn.array([10, 20]) }).y.tolist(), [11, 21]);
});
