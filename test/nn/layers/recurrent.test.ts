import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../../front/support.js';
import { assertClose } from '../../support/close.js';
import {
  data,
  expectedOf,
  flat,
  type Kind,
  kinds,
  type Layer,
  layerOf,
  statesFor,
} from './recurrent-reference.js';

const tolerance = 1e-12;

interface Case {
  readonly batch: number;
  readonly time: number;
  readonly options: kn.nn.RecurrentOptions;
}

const cases: readonly Case[] = [
  { batch: 2, time: 3, options: {} },
  { batch: 1, time: 1, options: { layers: 2 } },
  { batch: 3, time: 4, options: { bidirectional: true } },
  { batch: 2, time: 5, options: { layers: 3, bidirectional: true, layout: 'TNC' } },
  { batch: 4, time: 2, options: { layers: 2, layout: 'TNC' } },
  { batch: 2, time: 0, options: { layers: 2, bidirectional: true } },
  { batch: 0, time: 3, options: { bidirectional: true } },
  { batch: 0, time: 0, options: {} },
];

const channels = 2;
const size = 3;

/** Compares what a layer gives with the equations, one run from zeros and one from given states. */
function check(
  kind: Kind,
  layer: Layer,
  { batch, time, options }: Case,
  lengths?: readonly number[],
): void {
  const x = data([batch, time, channels]);
  const isTimeFirst = options.layout === 'TNC';
  for (const given of [undefined, statesFor(layer, batch)]) {
    const inputs: { states?: kn.NDArray[]; lengths?: kn.NDArray } = {};
    if (given !== undefined) inputs.states = given;
    if (lengths !== undefined) inputs.lengths = kn.array(lengths, { dtype: 'int32' });
    const arranged = isTimeFirst ? x.transpose([1, 0, 2]) : x;
    const [outputs, ends] =
      given === undefined && lengths === undefined
        ? layer.call(arranged)
        : layer.call(arranged, inputs);
    const begin = given ?? layer.beginState(batch);
    const expected = expectedOf(
      kind,
      layer,
      x.tolist() as number[][][],
      begin.map((state) => state.tolist() as number[][][]),
      lengths,
    );
    const directions = options.bidirectional === true ? 2 : 1;
    const batchFirst = isTimeFirst ? outputs.transpose([1, 0, 2]) : outputs;
    assert.deepEqual(batchFirst.shape, [batch, time, directions * size]);
    assertClose(flat(batchFirst), expected.outputs.flat(2), tolerance, 'outputs');
    assert.equal(ends.length, begin.length);
    ends.forEach((end, k) => {
      assert.deepEqual(end.shape, begin[k].shape);
      assertClose(flat(end), expected.states[k].flat(2), tolerance, `state ${k}`);
    });
  }
}

for (const kind of kinds) {
  for (const hybridized of [false, true]) {
    const how = `${kind}, ${hybridized ? 'captured' : 'eager'}`;

    test(`layers, directions and layouts follow the published equations: ${how}`, () => {
      cases.forEach((each, seed) => {
        const layer = layerOf(kind, size, channels, each.options, seed);
        if (hybridized) layer.hybridize();
        check(kind, layer, each);
      });
    });

    test(`with lengths each example is what it is alone: ${how}`, () => {
      cases.forEach((each, seed) => {
        const layer = layerOf(kind, size, channels, each.options, seed);
        if (hybridized) layer.hybridize();
        for (let round = 0; round < 3; round++) {
          const lengths = Array.from({ length: each.batch }, () =>
            Number(kn.random.randint([], { low: 0, high: each.time + 1 }).item()),
          );
          check(kind, layer, each, lengths);
        }
      });
    });
  }

  test(`a layer starts from the numbers of its cell, and steps like it: ${kind}`, () => {
    kn.random.seed(5);
    const layer = new kn.nn[kind](size, { inputs: channels }).initialize();
    kn.random.seed(5);
    const cell = new kn.nn[`${kind}Cell`](size, { inputs: channels }).initialize();
    assert.deepEqual(
      [...layer.parameters()].map(([name, { value }]) => [name, value.tolist()]),
      [...cell.parameters()].map(([name, { value }]) => [`cells.0.${name}`, value.tolist()]),
    );
    const x = kn.random.normal([2, 4, channels]);
    const [outputs] = layer.call(x);
    let states = cell.beginState(2);
    for (let t = 0; t < 4; t++) {
      const [output, next] = cell.call(x.slice(':', t), states);
      states = next;
      assertClose(flat(outputs.slice(':', t)), flat(output), 1e-6);
    }
  });

  test(`the input size is taken from the first call, captured or not: ${kind}`, () => {
    const found = [false, true].map((hybridized) => {
      kn.random.seed(1);
      const layer = new kn.nn[kind](size, { layers: 2, bidirectional: true }).initialize();
      if (hybridized) layer.hybridize();
      const [outputs] = layer.call(kn.random.normal([2, 3, 5]));
      assert.deepEqual(layer.cells[0].inputWeight.shape.slice(1), [5]);
      assert.deepEqual(layer.reverseCells[1].inputWeight.shape.slice(1), [2 * size]);
      return flat(outputs);
    });
    assertClose(found[1], found[0], 1e-6);
  });

  test(`parameters are saved and loaded by name, before sizes are known: ${kind}`, () => {
    const options = { layers: 2, bidirectional: true };
    kn.random.seed(2);
    const layer = new kn.nn[kind](size, options).initialize();
    const x = kn.random.normal([2, 3, channels]);
    const [expected] = layer.call(x);
    const names = ['inputWeight', 'stateWeight', 'inputBias', 'stateBias'];
    assert.deepEqual(
      [...layer.parameters().keys()],
      ['cells', 'reverseCells'].flatMap((list) =>
        [0, 1].flatMap((index) => names.map((name) => `${list}.${index}.${name}`)),
      ),
    );
    const other = new kn.nn[kind](size, options);
    other.fromSafetensors(layer.toSafetensors());
    assert.deepEqual(other.call(x)[0].tolist(), expected.tolist());
  });
}

test('no step computes more rows than there are examples that have it', () => {
  const layer = layerOf('LSTM', size, channels, { layers: 2, bidirectional: true }).hybridize();
  const lengths = kn.array([1, 3], { dtype: 'int32' });
  const text = layer.graphFor(data([2, 3, channels]), { lengths }).toString();
  const bodies = text.match(/foreach\(.*?\n {2}\}\]/gs)!;
  assert.equal(bodies.length, 4);
  for (const body of bodies) {
    const rows = [...body.matchAll(/ = (?:matmul|sigmoid|tanh)\(.*\): float64\[([^\]]*), \d+\]/g)];
    assert.equal(rows.length, 6);
    for (const [, count] of rows) assert.match(count, /^min\(2, size_\d+\)$/);
  }
});

test('a saved graph with symbolic sizes takes any batch, time and lengths', () => {
  const layer = layerOf('LSTM', size, channels, { layers: 2, bidirectional: true });
  const padded = (batch: number, time: number, lengths: readonly number[]) =>
    [data([batch, time, channels]), kn.array(lengths, { dtype: 'int32' })] as const;
  class Net extends kn.nn.HybridBlock {
    recurrent: Layer = layer;
    override forward(x: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
      return this.recurrent.call(x, { lengths })[0];
    }
  }
  const net = new Net().hybridize({ dynamic: [['batch', 'time'], ['batch']] });
  const graph = net.graphFor(...padded(2, 3, [3, 1]));
  const again = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())));
  for (const [x, lengths] of [
    padded(2, 3, [3, 1]),
    padded(4, 5, [0, 5, 2, 2]),
    padded(1, 1, [1]),
    padded(3, 2, [0, 0, 0]),
    padded(2, 0, [0, 0]),
  ]) {
    const [outputs] = layer.call(x, { lengths });
    assertClose(flat(net.call(x, lengths)), flat(outputs), tolerance, 'captured');
    const feeds = Object.fromEntries([x, lengths].map((array, i) => [again.inputNames[i], array]));
    assertClose(flat(Object.values(again.run(feeds))[0]), flat(outputs), tolerance, 'reloaded');
  }
  assert.equal(net.explain().traces.length, 1);
});

test('dropout lies between layers, in training only', () => {
  const layer = layerOf('LSTM', size, channels, { layers: 2, dropout: 0.5 });
  const last = layerOf('LSTM', size, channels, { dropout: 0.5 });
  const x = data([2, 3, channels]);
  const run = (net: Layer): number[] => flat(net.call(x)[0]);
  assert.deepEqual(run(layer), run(layerOf('LSTM', size, channels, { layers: 2 })));
  kn.autograd.trainMode(() => {
    const [first, second] = [run(layer), run(layer)];
    assert.notDeepEqual(first, second);
    assert.deepEqual(run(last), run(layerOf('LSTM', size, channels)));
  });
  const captured = layerOf('LSTM', size, channels, { layers: 2, dropout: 0.5 }).hybridize();
  kn.autograd.trainMode(() => {
    kn.random.seed(9);
    const expected = [run(layer), run(layer)];
    kn.random.seed(9);
    assertClose([run(captured), run(captured)].flat(), expected.flat(), tolerance);
  });
});

test('an activation of choice', () => {
  const layer = new kn.nn.RNN(size, { inputs: channels, activation: 'relu' }).initialize();
  const cell = new kn.nn.RNNCell(size, { inputs: channels, activation: 'relu' });
  cell.fromSafetensors(layer.cells[0].toSafetensors());
  const x = kn.random.normal([2, 1, channels]);
  const [output] = cell.call(x.slice(':', 0), cell.beginState(2));
  assertClose(flat(layer.call(x)[0]), flat(output), 1e-6);
});

for (const hybridized of [false, true]) {
  test(`mistakes are refused where they are known, ${hybridized ? 'captured' : 'eager'}`, () => {
    const made = (options: kn.nn.RecurrentOptions = {}): Layer => {
      const layer = layerOf('LSTM', size, channels, options);
      return hybridized ? layer.hybridize() : layer;
    };
    const layer = made();
    const x = data([2, 3, channels]);
    const { ShapeError, ArgumentError, DTypeError } = kn;
    refuses(() => layer.call(x.slice(0)), ShapeError, 'LSTM', '(batch, time, channels)');
    refuses(() => made({ layout: 'TNC' }).call(x.slice(0)), ShapeError, '(time, batch, channels)');
    const given = (lengths: kn.nn.Lengths) => () => layer.call(x, { lengths });
    refuses(given([3]), ShapeError, 'one length for each example', 'shape [2]');
    refuses(given([3, 4]), ArgumentError, 'example 1', '0 to 3', '4');
    refuses(given(kn.array([-1, 3], { dtype: 'int64' })), ArgumentError, 'example 0', '-1');
    refuses(given(kn.array([1, 3])), DTypeError, 'integer', 'float32');
    const states = layer.beginState(2);
    refuses(() => layer.call(x, { states: states.slice(1) }), ArgumentError, 'expected: 2');
    refuses(
      () => layer.call(x, { states: [states[0], states[1].slice(':', [1])] }),
      ShapeError,
      'state 1',
      '(1, 2, 3)',
    );
    assert.deepEqual(layer.call(x, { lengths: [3, 0] })[0].shape, [2, 3, size]);
  });
}

test('numbers of layers and rates that make no sense are refused', () => {
  refuses(
    () => new kn.nn.LSTM(3, { layers: 0 }),
    kn.ArgumentError,
    'LSTM: layers',
    'at least 1',
    '0',
  );
  refuses(
    () => new kn.nn.LSTM(3, { layers: 2 ** 40 }),
    kn.ArgumentError,
    'LSTM: layers',
    'at most 10000',
  );
  refuses(() => new kn.nn.GRU(3, { dropout: 1 }), kn.ArgumentError, '0 <= rate < 1');
});

test('plain numbers as lengths are data: a graph takes any of them', () => {
  const layer = layerOf('GRU', size, channels).hybridize();
  const eager = layerOf('GRU', size, channels);
  const x = data([2, 3, channels]);
  for (const lengths of [
    [3, 1],
    [0, 2],
    [2, 2],
  ]) {
    assertClose(
      flat(layer.call(x, { lengths })[0]),
      flat(eager.call(x, { lengths })[0]),
      tolerance,
    );
  }
  assert.equal(layer.explain().traces.length, 1);
});

test('lengths of narrow integers reach as far as others', () => {
  const layer = layerOf('RNN', 1, 1);
  const x = data([1, 130, 1]);
  const given = (dtype: 'int8' | 'int64'): number[] =>
    flat(layer.call(x, { lengths: kn.array([127], { dtype }) })[0]);
  assert.deepEqual(given('int8'), given('int64'));
  assert.deepEqual(given('int8').slice(127), [0, 0, 0]);
});
