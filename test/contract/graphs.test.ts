import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { lists } from './forms.js';
import { refused } from './refusals.js';

/* Static graphs: what "Deferred compute and static graphs" and the small print under "Graphs" promise of them. */

const { autograd } = kn;

function sample(): kn.StaticGraph {
  const [x, w] = [kn.array([[1, 2]]), kn.array([[3], [4]])]; // prettier-ignore
  const { y, z } = kn.deferredCompute(() => ({ y: x.matmul(w), z: x.mul(2) }));
  return kn.exportGraph({ inputs: { x, w }, outputs: { y, z } });
}

/** A graph whose first axis may have any size. */
function symbolic(): kn.StaticGraph {
  const f = kn.hybridize((x: kn.NDArray) => ({ y: x.reshape([-1]).mul(2), mean: x.mean(0) }), {
    dynamic: [['n', null]],
  });
  return f.graphFor(kn.ones([2, 3]));
}

test('graph.inputNames; graph.outputNames', () => {
  const graph = sample();
  assert.deepEqual([graph.inputNames, graph.outputNames], [['x', 'w'], ['y', 'z']]); // prettier-ignore
});

test('`graph.run(feeds)` returns a record by output name', () => {
  const result = sample().run({ w: [[1], [1]], x: kn.array([[5, 6]]) });
  assert.deepEqual(lists(result), { y: [[11]], z: [[10, 12]] });
});

test('graph.run takes part in `record`', () => {
  const graph = sample();
  const [x, w] = [kn.array([[5, 6]]), kn.array([[7], [8]])]; // prettier-ignore
  x.attachGrad();
  w.attachGrad();
  const loss = autograd.record(() => {
    const { y, z } = graph.run({ x, w });
    return y.sum().add(z.sum());
  });
  loss.backward();
  assert.deepEqual([x.grad!.tolist(), w.grad!.tolist()], [[[9, 10]], [[5], [6]]]); // prettier-ignore
  const second = kn.grad((v: kn.NDArray) => kn.grad((u: kn.NDArray) => graph.run({ x: u.square(), w }).y.sum())(v));
  near(second(x).tolist(), [[14, 16]]);
}); // prettier-ignore

test('graph.run refuses unknown names, missing ones, and arrays that do not fit', () => {
  const graph = sample();
  const [x, w] = [kn.array([[1, 2]]), kn.array([[3], [4]])]; // prettier-ignore
  const op = 'StaticGraph.run';
  refused(() => graph.run({ x, w, v: x }), { kind: kn.ArgumentError, op, says: 'no input v' });
  refused(() => graph.run({ x }), { kind: kn.ArgumentError, op, says: 'input w is missing' });
  refused(() => graph.run({ x: x.astype('float64'), w }), { kind: kn.DTypeError, op, says: 'input x has another dtype' }); // prettier-ignore
  refused(() => graph.run({ x, w: kn.ones([3, 1]) }), { kind: kn.ShapeError, op, says: 'input w has another size' }); // prettier-ignore
  refused(() => graph.run({ x: kn.ones([2]), w }), { kind: kn.ShapeError, op, says: 'input x has another rank' }); // prettier-ignore
});

test('a run of a graph that is refused draws nothing', () => {
  const x = kn.ones([2]);
  const y = kn.deferredCompute(() => x.add(kn.random.uniform([2])));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  const refusal = { kind: kn.ShapeError, op: 'StaticGraph.run', says: 'input x' };
  refused(() => graph.run({ x: kn.ones([3]) }), refusal);
  kn.deferredCompute(() => refused(() => graph.run({ x: kn.ones([3]) }), refusal));
  const hybrid = kn.hybridize((given: kn.NDArray) => graph.run({ x: given })['y']);
  refused(() => hybrid(kn.ones([3])), refusal);
});

test('graph.run accepts any sizes where dimensions are symbolic', () => {
  const graph = symbolic();
  for (const n of [1, 2, 7, 64]) {
    const x = kn.arange(3 * n).reshape([n, 3]);
    const { y, mean } = graph.run({ [graph.inputNames[0]]: x });
    assert.deepEqual(y.tolist(), x.reshape([-1]).mul(2).tolist());
    near(mean.tolist(), x.mean(0).tolist());
  }
});

test('graph.toString() names inputs, operators, shapes, lines and outputs', () => {
  const text = sample().toString();
  for (const word of ['x', 'w', 'matmul', 'float32[1, 2]', 'graphs.test', 'output']) {
    assert.ok(text.includes(word), `${text}\nlacks ${word}`);
  }
});

test('graph.toDot() is a graph in the language of Graphviz', () => {
  const text = sample().toDot();
  assert.match(text, /^digraph/);
  for (const word of ['matmul', 'output y', '->']) assert.ok(text.includes(word), word);
});

test('graph.toJSON(); StaticGraph.fromJSON(json): names, values and results survive', () => {
  for (const graph of [sample(), symbolic()]) {
    const json = graph.toJSON();
    for (const again of [json, JSON.stringify(json), JSON.stringify(graph)].map((saved) => kn.StaticGraph.fromJSON(saved))) {
      assert.deepEqual([again.inputNames, again.outputNames], [graph.inputNames, graph.outputNames]);
      assert.equal(again.toString(), graph.toString());
      assert.deepEqual(again.toJSON(), json);
    }
  }
}); // prettier-ignore

test('StaticGraph.fromJSON: every value survives: NaN, infinities, -0, the least and the greatest', () => {
  const values: Readonly<Record<kn.DType, readonly (number | bigint | boolean)[]>> = {
    float64: [NaN, Infinity, -Infinity, -0, 5e-324, Number.MAX_VALUE],
    float32: [NaN, Infinity, -0, 2 ** -149, 0.1],
    float16: [NaN, -Infinity, -0, 2 ** -24, 65504],
    bfloat16: [NaN, -Infinity, -0, 1.5],
    int64: [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n],
    int32: [-(2 ** 31), 2 ** 31 - 1],
    int8: [-128, 127],
    uint8: [0, 255],
    bool: [true, false],
  };
  const outputs = kn.deferredCompute(() =>
    Object.fromEntries(
      kn.dtypes.map((dtype) => [dtype, kn.array(values[dtype] as number[], { dtype })]),
    ),
  );
  const graph = kn.exportGraph({ inputs: {}, outputs });
  const loaded = kn.StaticGraph.fromJSON(JSON.stringify(graph)).run({});
  for (const dtype of kn.dtypes) {
    assert.equal(loaded[dtype].dtype, dtype);
    assert.deepEqual(loaded[dtype].dataSync(), outputs[dtype].dataSync());
  }
});

test('graph.run is a call like any other: inside captured code, and with one array for two inputs', () => {
  const [a, b] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => a.mul(b).add(a));
  const graph = kn.exportGraph({ inputs: { a, b }, outputs: { y } });
  const twice = (v: kn.NDArray): kn.NDArray => graph.run({ a: v, b: v }).y;
  const x = kn.array([3]);
  for (const f of [twice, kn.hybridize(twice)]) {
    for (let i = 0; i < 3; i++) {
      assert.deepEqual([f(x).tolist(), kn.grad(f)(x).tolist()], [[12], [7]]); // prettier-ignore
    }
  }
  const z = kn.deferredCompute(() => twice(x).mul(10));
  const outer = kn.exportGraph({ inputs: { x }, outputs: { z } });
  for (const each of [outer, kn.StaticGraph.fromJSON(JSON.stringify(outer))]) {
    assert.deepEqual(each.run({ x: [4] }).z.tolist(), [200]);
  }
});

test('StaticGraph.fromJSON refuses what is damaged or foreign', () => {
  const op = 'fromJSON';
  refused(() => kn.StaticGraph.fromJSON('{'), { kind: kn.FormatError, op, says: 'not JSON', lacks: ['expected', 'actual'] }); // prettier-ignore
  const json = sample().toJSON() as Record<string, never>;
  const damaged: readonly (readonly [unknown, RegExp])[] = [
    [null, /graph/],
    [{}, /format/],
    [{ ...json, format: 'other' }, /not a graph/],
    [{ ...json, version: 99 }, /version/],
    [{ ...json, program: 5 }, /program/],
    [{ ...json, reads: [{ array: 7 }] }, /reads|values/],
    [{ ...json, program: { ...(json['program'] as object), programs: [] } }, /no program/],
    [{ ...json, program: { ...(json['program'] as object), version: 99 } }, /version/],
  ];
  for (const [value, says] of damaged) {
    assert.throws(
      () => kn.StaticGraph.fromJSON(value),
      (error) => (error instanceof kn.FormatError || error instanceof kn.GraphError) && says.test(error.message) && error.op === op && error.source !== undefined,
      JSON.stringify(value).slice(0, 60),
    ); // prettier-ignore
  }
});

test("graph.inferTypes({ x: { shape: ['n', 10], dtype: 'float32' } })", () => {
  const x = kn.arange(80).reshape([8, 10]);
  const { y, z } = kn.deferredCompute(() => ({ y: x.add(5).mul(x.add(5)), z: kn.concat([x, x]).sum(1) }));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y, z } });
  const types = graph.inferTypes({ x: { shape: ['n', 10], dtype: 'float32' } });
  assert.deepEqual(Object.keys(types), ['y', 'z']);
  assert.deepEqual([types.y.dtype, types.y.shape.map(String)], ['float32', ['n', '10']]);
  assert.deepEqual(graph.inferTypes({}).y, { dtype: 'float32', shape: [8, 10] });
  assert.equal(graph.inferTypes({ x: { shape: [2, 10], dtype: 'float64' } }).y.dtype, 'float64');
}); // prettier-ignore

test('`String(dim)` prints the expression', () => {
  const x = kn.arange(80).reshape([8, 10]);
  const z = kn.deferredCompute(() => kn.concat([x, x, kn.ones([1, 10])]).sum(1));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { z } });
  const [dim] = graph.inferTypes({ x: { shape: ['n', 10] } }).z.shape;
  assert.equal(String(dim).replaceAll(' ', ''), '2*n+1');
  assert.equal(String(kn.dim('time')), 'time');
});

test('inferTypes refuses unknown names and types that do not fit', () => {
  const graph = sample();
  refused(() => graph.inferTypes({ v: { shape: [1] } }), { kind: kn.ArgumentError, op: 'inferTypes', says: 'no input v' }); // prettier-ignore
  refused(() => graph.inferTypes({ x: { shape: [1, 5] } }), { kind: kn.ShapeError, op: 'matmul', says: '5' }); // prettier-ignore
  refused(() => graph.inferTypes({ x: { shape: [4, 6], dtype: 'float8' as never } }), { kind: kn.DTypeError, op: 'inferTypes', says: 'input x' }); // prettier-ignore
  for (const [shape, kind] of [
    [[-1, 2], kn.ShapeError],
    [[1.5, 2], kn.ArgumentError],
    [['2 +', 2], kn.GraphError],
    [[null, 2], kn.ArgumentError],
  ] as const) {
    refused(() => graph.inferTypes({ x: { shape: shape as never } }), { kind, op: 'inferTypes', says: 'input x', lacks: ['expected', 'actual'] }); // prettier-ignore
  }
});

test('An input may be an output; one array may be two outputs; an output may use no input if it uses only constants made inside', () => {
  const x = kn.array([1, 2]);
  const { y, constant, made } = kn.deferredCompute(() => ({
    y: x.mul(2),
    constant: kn.array([7]),
    made: kn.ones([2]).add(kn.array([1, 2])),
  }));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { x, y, again: y, constant, made } });
  for (const each of [graph, kn.StaticGraph.fromJSON(graph.toJSON())]) {
    assert.deepEqual(lists(each.run({ x: [3, 4] })), {
      x: [3, 4], y: [6, 8], again: [6, 8], constant: [7], made: [2, 3],
    }); // prettier-ignore
  }
});

test('an output that uses no input, alone: a graph without inputs', () => {
  const { y } = kn.deferredCompute(() => ({ y: kn.ones([2]).mul(3) }));
  const graph = kn.exportGraph({ inputs: {}, outputs: { y } });
  assert.deepEqual([graph.inputNames, graph.run({}).y.tolist()], [[], [3, 3]]);
});

test('two outputs that are one array are two arrays of a run: changing one leaves the other', () => {
  const x = kn.array([1, 2]);
  const y = kn.deferredCompute(() => x.mul(2));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { x, y, again: y } });
  const given = kn.array([3, 4]);
  const run = graph.run({ x: given });
  run.y.assign(kn.zeros([2]));
  run.x.assign(kn.zeros([2]));
  assert.deepEqual([run.again.tolist(), given.tolist()], [[6, 8], [3, 4]]); // prettier-ignore
});

test('In `graphFor` and exports of blocks, parameters are named inputs with bound values; only data is fed', () => {
  const net = new kn.nn.Dense(2, { inputs: 3 }).initialize();
  const x = kn.ones([1, 3]);
  const graph = net.graphFor(x);
  assert.deepEqual([...graph.parameters.keys()].sort(), ['bias', 'weight']);
  assert.equal(graph.inputNames.length, 1);
  const [name] = graph.inputNames;
  assert.deepEqual(Object.values(graph.run({ [name]: x }))[0].tolist(), net.call(x).tolist());
  net.weight.assign(kn.ones([2, 3]));
  assert.deepEqual(Object.values(graph.run({ [name]: x }))[0].tolist(), [[3, 3]]);
  const saved = kn.StaticGraph.fromJSON(JSON.stringify(graph));
  net.weight.assign(kn.zeros([2, 3]));
  assert.deepEqual(Object.values(saved.run({ [name]: x }))[0].tolist(), [[3, 3]]);
  assert.deepEqual(saved.parameters.get('weight')!.tolist(), [[1, 1, 1], [1, 1, 1]]); // prettier-ignore
});

test('Repeated calls are bitwise equal', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.matmul(x).softmax().sum(0));
  kn.random.seed(4);
  const x = kn.random.normal([17, 17]);
  const first = f(x).dataSync();
  for (let i = 0; i < 4; i++) assert.deepEqual(f(x).dataSync(), first);
});
