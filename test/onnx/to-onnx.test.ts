import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { symbol } from '../../src/base/dim/index.js';
import { exportProgram } from '../../src/formats/onnx/export/export.js';
import { protobufFor } from '../../src/formats/onnx/proto/library.js';
import type { ModelProto } from '../../src/formats/onnx/proto/onnx_pb.js';
import * as kn from '../../src/index.js';
import { flip, sum } from '../../src/ops/index.js';
import { Program } from '../../src/ir/program.js';
import { fromOnnx, statesOf, toOnnx } from '../../src/onnx.js';
import { toStableHlo } from '../../src/stablehlo.js';
import { assertClose } from '../formats/onnx/export/agrees.js';

function parsed(bytes: Uint8Array): ModelProto {
  const { fromBinary, schema } = protobufFor('test');
  return fromBinary(schema.ModelProtoSchema, bytes);
}

/** A network with batch norm, whose statistics are state that training changes. */
function network(): kn.nn.Sequential {
  kn.random.seed(3);
  const net = new kn.nn.Sequential(new kn.nn.Dense(4), new kn.nn.BatchNorm(), new kn.nn.Dense(2));
  net.initialize();
  return net;
}

const batch = (): kn.NDArray => kn.arange(15).reshape([5, 3]).mul(0.7).sin();

/** A whole step of training, as a graph. */
function step(makeOptimizer: (net: kn.nn.Sequential) => { step(): void }): {
  readonly graph: kn.StaticGraph;
  readonly x: kn.NDArray;
} {
  const net = network();
  const x = batch();
  net.call(x);
  const optimizer = makeOptimizer(net);
  const captured = kn.hybridize((each: kn.NDArray) => {
    const loss = kn.autograd.record(() => net.call(each).square().mean());
    loss.backward();
    optimizer.step();
    return { loss };
  });
  captured(x);
  return { graph: captured.graphFor(x), x };
}

test('inputs, outputs, parameters and symbols come back as they were', () => {
  const net = network();
  net.hybridize({ dynamic: [['batch', null]] });
  net.call(batch());
  const graph = net.graphFor(batch());
  const model = fromOnnx(toOnnx(graph, { check: { [graph.inputNames[0]]: batch() } }));
  assert.deepEqual(model.inputNames, graph.inputNames);
  assert.deepEqual(model.outputNames, graph.outputNames);
  assert.deepEqual([...model.parameters.keys()], [...graph.parameters.keys()]);
  for (const [name, value] of graph.parameters) {
    assertClose(model.parameters.get(name)!, value, name);
  }
  const [name] = graph.inputNames;
  const sizes = { [name]: { shape: ['rows', 3] } };
  assert.deepEqual(model.inferTypes(sizes), graph.inferTypes(sizes));
  for (const rows of [0, 1, 9]) {
    const x = kn.ones([rows, 3]);
    const [found, expected] = [model, graph].map((each) => Object.values(each.run({ [name]: x }))[0]); // prettier-ignore
    assertClose(found, expected, `${rows} rows`);
  }
});

test('sizes that are expressions of symbols, and their ranges', () => {
  const program = new Program();
  const n = symbol('n', { min: 1, max: 8 });
  const type = { dtype: 'float32', shape: [n] } as const;
  const x = program.variable('x', type);
  program.setOutputs([{ name: 'y', value: flip(x) }]);
  const graph = new kn.StaticGraph({ program, reads: [], writes: [] });
  const model = fromOnnx(toOnnx(graph));
  assert.deepEqual(model.run({ x: [1, 2, 3] })['y'].tolist(), [3, 2, 1]);
  assert.throws(() => model.run({ x: kn.zeros([9]) }), kn.ShapeError);
});

test('a step of training goes on where it stopped', () => {
  for (const make of [
    (net: kn.nn.Sequential) => new kn.optim.SGD(net.parameters(), { learningRate: 0.1, momentum: 0.9 }), // prettier-ignore
    (net: kn.nn.Sequential) => new kn.optim.Adam(net.parameters(), { learningRate: 0.01 }),
  ]) {
    const { graph, x } = step(make);
    const [name] = graph.inputNames;
    const bytes = toOnnx(graph, { check: { [name]: x } });
    const model = fromOnnx(bytes);
    assert.deepEqual(
      model.outputNames.filter((each) => !each.endsWith('.grad')),
      graph.outputNames,
    );
    for (let count = 0; count < 3; count++) {
      const [found, expected] = [model, graph].map((each) => each.run({ [name]: x }));
      assertClose(found['loss'], expected['loss'], `loss ${count}`);
    }
    for (const [each, value] of graph.parameters) {
      assertClose(model.parameters.get(each)!, value, each);
    }
  }
});

test('state is an input with a default, and an output with its next value', () => {
  const { graph } = step((net) => new kn.optim.SGD(net.parameters(), { learningRate: 0.1 }));
  const { graph: written } = parsed(toOnnx(graph));
  const inputs = written!.input.map(({ name }) => name);
  const stored = written!.initializer.map(({ name }) => name);
  const outputs = written!.output.map(({ name }) => name);
  const changing = outputs.filter((name) => name.endsWith('.next'));
  assert.ok(changing.length >= 6);
  for (const name of changing) {
    const state = name.slice(0, -'.next'.length);
    assert.ok(inputs.includes(state) && stored.includes(state), state);
  }
  // Exporting leaves state alone.
  const [[name, before]] = graph.parameters;
  const elements = before.tolist();
  toOnnx(graph, { check: { [graph.inputNames[0]]: batch() } });
  assert.deepEqual(graph.parameters.get(name)!.tolist(), elements);
});

test('states as plain inputs: a model without memory takes the same steps', () => {
  const { graph, x } = step((net) => new kn.optim.SGD(net.parameters(), { learningRate: 0.1, momentum: 0.9 })); // prettier-ignore
  const [name] = graph.inputNames;
  const bytes = toOnnx(graph, { states: 'inputs', check: { [name]: x } });
  const given = statesOf(graph);
  const { graph: written } = parsed(bytes);
  const inputs = written!.input.map((each) => each.name);
  const stored = new Set(written!.initializer.map((each) => each.name));
  assert.deepEqual(inputs.slice(1).sort(), Object.keys(given).sort());
  assert.deepEqual(inputs.filter((each) => stored.has(each)), []); // prettier-ignore

  const model = fromOnnx(bytes);
  assert.deepEqual(model.inputNames, inputs);
  assert.equal(model.parts.writes.length, 0);
  let states: Record<string, kn.NDArray> = given;
  const losses: unknown[] = [];
  for (let count = 0; count < 3; count++) {
    const found = model.run({ [name]: x, ...states });
    const expected = graph.run({ [name]: x });
    assertClose(found['loss'], expected['loss'], `loss ${count}`);
    losses.push(found['loss'].item());
    states = Object.fromEntries(Object.entries(states).map(([each, now]) => [each, found[`${each}.next`] ?? now])); // prettier-ignore
  }
  assert.equal(new Set(losses).size, 3);
  const after = statesOf(graph);
  let changed = 0;
  for (const [each, value] of Object.entries(after)) {
    assertClose(states[each], value, each);
    // What was told of the beginning is still what it was then.
    if (given[each].tolist().toString() !== value.tolist().toString()) changed++;
  }
  assert.ok(changed >= 6, `${changed} states have changed`);
  // The host's numbers are inputs like any other.
  const rate = Object.keys(given).find((each) => each.startsWith('learning_rate'))!;
  const still = model.run({ [name]: x, ...given, [rate]: 0 });
  const [weight] = [...graph.parameters.keys()].filter((each) => each.endsWith('weight'));
  assertClose(still[`${weight}.next`], given[weight], 'a step of length 0');
  assert.throws(() => model.run({ [name]: x }), kn.ArgumentError);
  assert.throws(() => toOnnx(graph, { states: 'output' as 'inputs' }), kn.ArgumentError);
});

test('the state of the random generator can be a plain input, too', () => {
  const captured = kn.hybridize((x: kn.NDArray) => ({ u: x.add(kn.random.uniform([4])) }));
  kn.random.seed(5);
  captured(kn.zeros([4]));
  const graph = captured.graphFor(kn.zeros([4]));
  const [name] = graph.inputNames;
  kn.random.seed(17);
  const model = fromOnnx(toOnnx(graph, { states: 'inputs', check: { [name]: kn.zeros([4]) } }));
  const [[state, begin]] = Object.entries(statesOf(graph));
  let now = begin;
  for (let count = 0; count < 3; count++) {
    const found = model.run({ [name]: kn.zeros([4]), [state]: now });
    assert.deepEqual(found['u'].tolist(), kn.random.uniform([4]).tolist(), `run ${count}`);
    now = found[`${state}.next`];
  }
});

test('gradients that a graph leaves on arrays are outputs', () => {
  const w = kn.array([1, -2, 3]);
  w.attachGrad();
  const captured = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => x.mul(w).square().sum());
    loss.backward();
    return { loss };
  });
  const x = kn.array([0.5, 2, -1]);
  captured(x);
  const graph = captured.graphFor(x);
  const model = fromOnnx(toOnnx(graph, { check: { [graph.inputNames[0]]: x } }));
  const found = model.run({ [graph.inputNames[0]]: x });
  const [name] = Object.keys(found).filter((each) => each.endsWith('.grad'));
  assertClose(found[name], x.square().mul(w).mul(2), name);
});

test('random numbers are drawn as the graph draws them', () => {
  const draw = (x: kn.NDArray): Record<string, kn.NDArray> => {
    const [o] = kn.foreach((row: kn.NDArray) => [row.add(kn.random.uniform([2])), []], x, []);
    return {
      o: o as kn.NDArray,
      u: kn.random.uniform([2, 3], { low: -1, high: 2 }),
      d: kn.random.uniform([3], { dtype: 'float64' }),
      n: kn.random.normal([5]),
      i: kn.random.randint(-5, 1000, [7]),
      b: kn.random.bernoulli([9], { p: 0.3 }),
    };
  };
  const x = kn.zeros([3, 2]);
  kn.random.seed(-5);
  const captured = kn.hybridize(draw);
  captured(x);
  const graph = captured.graphFor(x);
  const [name] = graph.inputNames;
  const model = fromOnnx(toOnnx(graph, { check: { [name]: x } }));
  const [found, expected] = [model, graph].map((each) => {
    kn.random.seed(11);
    return [each.run({ [name]: x }), each.run({ [name]: x }), { next: kn.random.uniform([2]) }];
  });
  expected.forEach((outputs, i) => {
    for (const [key, array] of Object.entries(outputs as Record<string, kn.NDArray>)) {
      assertClose((found[i] as Record<string, kn.NDArray>)[key], array, `${key}, run ${i}`);
    }
  });
  assert.throws(() => toOnnx(graph, { opset: 17 }), /opset 18/);
});

/** A graph with a weight of 4 KB and one of a few bytes. */
function heavy(): {
  readonly graph: kn.StaticGraph;
  readonly name: string;
  readonly x: kn.NDArray;
} {
  const [w, b] = [kn.arange(32 * 32).reshape([32, 32]).mul(1e-3), kn.array([1, 2])]; // prettier-ignore
  const captured = kn.hybridize((x: kn.NDArray) => ({ y: x.matmul(w).sum(1).add(b) }));
  const x = kn.ones([2, 32]);
  captured(x);
  const graph = captured.graphFor(x);
  return { graph, name: graph.inputNames[0], x };
}

test('checks of exporters compare outputs by name, also where numbers are names', () => {
  const x = kn.arange(6).reshape([2, 3]);
  const { y, z } = kn.deferredCompute(() => ({ y: x.add(5), z: x.sum(0) }));
  const json = JSON.stringify(kn.exportGraph({ inputs: { x }, outputs: { y, z } }).toJSON());
  // A record has '3' before '12', but the graph returns '12' first, as models of other libraries do.
  const graph = kn.StaticGraph.fromJSON(
    JSON.parse(json.replace('"y"', '"12"').replace('"z"', '"3"')),
  );
  assert.deepEqual(graph.outputNames, ['12', '3']);
  const model = fromOnnx(toOnnx(graph, { check: { x } }));
  assert.deepEqual(model.outputNames, ['12', '3']);
  assert.deepEqual(model.run({ x })['12'].shape, [2, 3]);
  const { meta } = toStableHlo(graph, { check: { x } });
  assert.deepEqual(
    meta.outputs.map(({ name }) => name),
    ['12', '3'],
  );
});

test('large tensors lie beside the model, at pages', () => {
  const { graph, name, x } = heavy();
  const files = new Map<string, Uint8Array>();
  const bytes = toOnnx(graph, {
    externalData: (location, data) => files.set(location, data),
    dataFile: 'parts/w.bin',
    check: { [name]: x },
  });
  assert.deepEqual([...files.keys()], ['parts/w.bin']);
  const tensors = parsed(bytes).graph!.initializer;
  const outside = tensors.filter(({ dataLocation }) => dataLocation === 1);
  assert.equal(outside.length, 1);
  const entries = new Map(outside[0].externalData.map(({ key, value }) => [key, value]));
  assert.equal(Number(entries.get('offset')) % 4096, 0);
  assert.equal(entries.get('length'), String(32 * 32 * 4));
  assert.equal(outside[0].rawData.length, 0);
  const model = fromOnnx(bytes, { externalData: (location) => files.get(location)! });
  assertClose(model.run({ [name]: x })['y'], graph.run({ [name]: x })['y'], 'y');
  assert.throws(() => fromOnnx(bytes), kn.FormatError);
});

test('a folder takes the file, and nothing outside of it', () => {
  const { graph, name, x } = heavy();
  const folder = mkdtempSync(join(tmpdir(), 'kaon-onnx-'));
  const bytes = toOnnx(graph, { externalData: folder, check: { [name]: x } });
  assert.deepEqual(readdirSync(folder), ['weights.bin']);
  assert.equal(readFileSync(join(folder, 'weights.bin')).length, 32 * 32 * 4);
  const model = fromOnnx(bytes, { externalData: folder });
  assertClose(model.run({ [name]: x })['y'], graph.run({ [name]: x })['y'], 'y');
  for (const dataFile of ['../w.bin', '/w.bin', 'a/../../w.bin', 'c:w.bin', 'a\\w.bin', '']) {
    assert.throws(() => toOnnx(graph, { externalData: folder, dataFile }), kn.KaonError, dataFile);
  }
  symlinkSync(tmpdir(), join(folder, 'away'));
  assert.throws(
    () => toOnnx(graph, { externalData: folder, dataFile: 'away/w.bin' }),
    kn.ArgumentError,
  );
});

test('what does not fit into one file is refused before it is written', () => {
  const program = new Program();
  const shape = [2 ** 29];
  const w = program.variable('w', { dtype: 'float32', shape });
  program.setOutputs([{ name: 'y', value: sum(w) }]);
  const data = new Float32Array(2 ** 29);
  assert.throws(
    () =>
      exportProgram({
        program,
        outputs: ['y'],
        stored: new Map([['w', { type: { dtype: 'float32', shape }, data }]]),
        defaults: new Set(),
        metadata: new Map(),
        opset: 18,
        file: null,
      }),
    (error: Error) => error instanceof kn.UnsupportedError && /externalData/.test(error.message),
  );
});

test('damaged metadata is refused', () => {
  const { toBinary, schema } = protobufFor('test');
  const { graph } = heavy();
  const whole = parsed(toOnnx(graph));
  const [entry] = whole.metadataProps;
  const { value } = entry;
  const wrong = [
    'no json',
    '{}',
    value.replace('"version":1', '"version":2'),
    value.replace('"reads":[', '"reads":[{"name":"ghost","kind":"array"},'),
    value.replace('"outputs":[', '"outputs":["more",'),
    value.replace('"kind":"array"', '"kind":"random"'),
    value.replace('"kind":"array"', '"kind":"array","next":"nothing"'),
    value.replace('"symbols":{', '"symbols":{"n":[3,1]'),
  ];
  for (const text of wrong) {
    assert.notEqual(text, value);
    entry.value = text;
    assert.throws(() => fromOnnx(toBinary(schema.ModelProtoSchema, whole)), kn.FormatError, text);
  }
});

test('OneHot is given a list, as ONNX requires, where there is one index', () => {
  const graph = kn.hybridize((i: kn.NDArray) => kn.oneHot(i, 3)).graphFor(kn.array(1n));
  const bytes = toOnnx(graph, { check: { [graph.inputNames[0]]: kn.array(2n) } });
  const types = parsed(bytes).graph!.node.map(({ opType }) => opType);
  assert.ok(types.indexOf('Reshape') < types.indexOf('OneHot') && types.includes('Reshape'));
  assert.deepEqual(graph.run({ [graph.inputNames[0]]: kn.array(2n) }).output.tolist(), [0, 0, 1]);
});
