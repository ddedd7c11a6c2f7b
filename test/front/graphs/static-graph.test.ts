import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

function sample(): { graph: kn.StaticGraph; x: kn.NDArray; w: kn.NDArray } {
  const [x, w] = [kn.array([[1, 2]]), kn.array([[1], [3]])];
  const y = kn.deferredCompute(() => x.matmul(w).tanh());
  return { graph: kn.exportGraph({ inputs: { x, w }, outputs: { y } }), x, w };
}

test('names, and runs on other arrays and plain data', () => {
  const { graph } = sample();
  assert.deepEqual(
    [graph.inputNames, graph.outputNames, graph.parameters.size],
    [['x', 'w'], ['y'], 0],
  );
  const { y } = graph.run({ x: [[0.1, 0.2]], w: kn.array([[1], [1]]) });
  near(y.tolist(), [[Math.tanh(0.3)]]);
});

test('run refuses unknown and missing names, other shapes and dtypes', () => {
  const { graph, x, w } = sample();
  refuses(() => graph.run({ x, w, z: x }), kn.ArgumentError, 'no input z', 'x, w');
  refuses(() => graph.run({ x }), kn.ArgumentError, 'input w is missing');
  refuses(() => graph.run({ x: kn.zeros([2, 2]), w }), kn.ShapeError, 'input x');
  refuses(() => graph.run({ x: x.astype('float64'), w }), kn.DTypeError, 'input x', 'astype');
});

test('run takes part in recordings, of any order', () => {
  const { graph, w } = sample();
  const x = kn.array([[0.3, 0.1]]);
  x.attachGrad();
  w.attachGrad();
  kn.autograd.record(() => graph.run({ x, w }).y.sum()).backward();
  const slope = 1 - Math.tanh(0.6) ** 2;
  near(x.grad!.tolist(), [[slope, 3 * slope]]);
  near(w.grad!.tolist(), [[0.3 * slope], [0.1 * slope]]);
  const second = kn.grad((v: kn.NDArray) =>
    kn
      .grad((u: kn.NDArray) => graph.run({ x: u, w }).y.sum())(v)
      .sum(),
  )(x);
  const curve = -2 * Math.tanh(0.6) * slope;
  near(second.tolist(), [[4 * curve, 12 * curve]]);
});

test('run is captured by other graphs', () => {
  const { graph, w } = sample();
  const x = kn.array([[1, 1]]);
  const z = kn.deferredCompute(() => graph.run({ x, w }).y.mul(2));
  const outer = kn.exportGraph({ inputs: { x, w }, outputs: { z } });
  near(outer.run({ x: [[0.1, 0]], w: [[1], [0]] }).z.tolist(), [[2 * Math.tanh(0.1)]]);
});

test('types can be inferred for symbolic sizes', () => {
  const { graph } = sample();
  const types = graph.inferTypes({ x: { shape: ['batch', 2] } });
  assert.deepEqual(JSON.parse(JSON.stringify(types)), {
    y: { dtype: 'float32', shape: ['batch', 1] },
  });
  const wide = graph.inferTypes({
    x: { shape: ['n', 'k'], dtype: 'float64' },
    w: { shape: ['k', '2*m'], dtype: 'float64' },
  });
  assert.deepEqual(
    [String(wide.y.shape[0]), String(wide.y.shape[1]), wide.y.dtype],
    ['n', '2*m', 'float64'],
  );
  refuses(() => graph.inferTypes({ z: { shape: [1] } }), kn.ArgumentError, 'no input z');
  refuses(() => graph.inferTypes({ x: { shape: [1, 3] } }), kn.ShapeError, 'matmul');
});

test('JSON holds the graph and what it reads', () => {
  const w = kn.array([[1], [3]]);
  const f = kn.hybridize((x: kn.NDArray) => x.matmul(w), {
    nameOf: (array) => (array === w ? 'weight' : undefined),
  });
  const graph = f.graphFor(kn.ones([4, 2]));
  assert.deepEqual([graph.inputNames, [...graph.parameters.keys()]], [['input'], ['weight']]);
  assert.equal(graph.parameters.get('weight'), w);
  const again = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph)));
  assert.equal(again.toString(), graph.toString());
  w.assign(kn.array([[0], [0]]));
  const x = kn.ones([4, 2]);
  assert.deepEqual(graph.run({ input: x }).output.tolist(), [[0], [0], [0], [0]]);
  assert.deepEqual(again.run({ input: x }).output.tolist(), [[4], [4], [4], [4]]);
});

test('the graph draws itself', () => {
  const { graph } = sample();
  const dot = graph.toDot();
  assert.match(dot, /^digraph /);
  assert.match(dot, /"label"="matmul\\nfloat32\[1, 1\]"/);
  assert.match(dot, /"label"="tanh\\nfloat32\[1, 1\]\\noutput y"/);
  assert.equal(dot.match(/ -> /g)?.length, 3);
});

test('conditions of sizes are drawn as such', () => {
  const picked = kn.hybridize((x: kn.NDArray, mask: kn.NDArray) =>
    kn.booleanMask(x, mask).add(kn.booleanMask(x, mask.logicalNot())),
  );
  const dot = picked.graphFor(kn.zeros([4]), kn.array([true, false, true, false])).toDot();
  assert.match(dot, /"label"="require [^"]+ = 0", "shape"="diamond"/);
});

test('a graph that works on attached gradients cannot be saved', () => {
  const w = kn.array([1]);
  w.attachGrad();
  const graph = kn.hybridize(() => w.grad!.mul(2)).graphFor();
  refuses(() => graph.toJSON(), kn.UnsupportedError, 'attached gradients', 'return the gradients');
});

test('foreign JSON is refused', () => {
  refuses(() => kn.StaticGraph.fromJSON('{'), kn.FormatError, 'not JSON');
  refuses(
    () => kn.StaticGraph.fromJSON({ format: 'other' }),
    kn.FormatError,
    'not a graph of Kaon',
  );
  const json = JSON.parse(JSON.stringify(sample().graph)) as Record<string, unknown>;
  refuses(
    () => kn.StaticGraph.fromJSON({ ...json, version: 99 }),
    kn.FormatError,
    'another version',
  );
  refuses(() => kn.StaticGraph.fromJSON({ ...json, reads: [{ array: 5 }] }), kn.FormatError);
  refuses(
    () => kn.StaticGraph.fromJSON({ ...json, reads: [{ draws: 1 }] }),
    kn.FormatError,
    'reads 0',
  );
  refuses(() => kn.StaticGraph.fromJSON(null), kn.FormatError);
});
