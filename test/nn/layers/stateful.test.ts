import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { refuses } from '../../front/support.js';

const { autograd } = kn;
const size = 3;
const channels = 2;

type Kind = 'StatefulLSTM' | 'StatefulGRU';
type Layer = kn.nn.StatefulLSTM | kn.nn.StatefulGRU;
const kinds: readonly Kind[] = ['StatefulLSTM', 'StatefulGRU'];

/** A layer with random weights, biases included: the same for each seed. */
function layerOf(kind: Kind, options: kn.nn.StatefulOptions = {}, seed: number = 1): Layer {
  const layer = new kn.nn[kind](size, { inputs: channels, ...options });
  kn.random.seed(seed);
  layer.initialize();
  for (const parameter of layer.cell.parameters().values())
    parameter.assign(kn.random.normal(parameter.value.shape));
  return layer;
}

/** A layer in a network, with something before and after it. */
class Net extends kn.nn.HybridBlock {
  before: kn.nn.Dense = new kn.nn.Dense(channels, { flatten: false });
  recurrent: Layer;

  constructor(recurrent: Layer) {
    super();
    this.recurrent = recurrent;
  }

  override forward(x: kn.NDArray): kn.NDArray {
    return this.recurrent.call(this.before.call(x)).mul(2);
  }
}

const netOf = (kind: Kind): Net => {
  const net = new Net(layerOf(kind));
  kn.random.seed(2);
  net.before.initialize().call(kn.zeros([1, channels]));
  return net;
};

const data = (seed: number, ...shape: number[]): kn.NDArray => {
  kn.random.seed(seed);
  return kn.random.normal(shape);
};

const flat = (x: kn.NDArray): number[] => Array.from(x.dataSync(), Number);

const statesOf = (layer: Layer): number[] => layer.state.values.flatMap(({ value }) => flat(value));

/** The states of a plain loop over the cell, which starts anew from numbers at each call. */
class Loop {
  readonly #cell: Layer['cell'];
  states: kn.NDArray[];

  constructor(cell: Layer['cell'], batch: number) {
    this.#cell = cell;
    this.states = cell.beginState(batch);
  }

  call(steps: readonly kn.NDArray[]): kn.NDArray[] {
    let states = this.states.map((state) => state.detach());
    const outputs = steps.map((step) => {
      const [output, next] = this.#cell.call(step, states);
      states = next;
      return output;
    });
    this.states = states;
    return outputs;
  }
}

const stepsOf = (x: kn.NDArray): kn.NDArray[] =>
  Array.from({ length: x.shape[1] }, (_, t) => x.slice(':', t));

type Matrix = number[][];

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** The published equations on plain numbers, for one example; keeps its states from step to step. */
class Plain {
  readonly #weights: readonly [Matrix, Matrix, number[], number[]];
  readonly #isLstm: boolean;
  h: number[] = Array.from({ length: size }, () => 0);
  c: number[] = [...this.h];

  constructor({ cell }: Layer) {
    const { inputWeight, stateWeight, inputBias, stateBias } = cell;
    this.#weights = [inputWeight, stateWeight, inputBias, stateBias].map(({ value }) =>
      value.tolist(),
    ) as [Matrix, Matrix, number[], number[]];
    this.#isLstm = cell instanceof kn.nn.LSTMCell;
  }

  step(x: number[]): number[] {
    const [w, u, wBias, uBias] = this.#weights;
    const product = (m: Matrix, v: number[], bias: number[]): number[] =>
      m.map((row, i) => row.reduce((sum, entry, j) => sum + entry * v[j], bias[i]));
    const [a, b] = [product(w, x, wBias), product(u, this.h, uBias)];
    const gate = (k: number, j: number): number => a[k * size + j] + b[k * size + j];
    const units = [...Array(size).keys()];
    if (this.#isLstm) {
      this.c = units.map(
        (j) => sigmoid(gate(1, j)) * this.c[j] + sigmoid(gate(0, j)) * Math.tanh(gate(2, j)),
      );
      this.h = units.map((j) => sigmoid(gate(3, j)) * Math.tanh(this.c[j]));
    } else {
      this.h = units.map((j) => {
        const reset = sigmoid(gate(0, j));
        const update = sigmoid(gate(1, j));
        const candidate = Math.tanh(a[2 * size + j] + reset * b[2 * size + j]);
        return (1 - update) * candidate + update * this.h[j];
      });
    }
    return this.h;
  }
}

for (const kind of kinds) {
  for (const hybridized of [false, true]) {
    const how = `${kind}, ${hybridized ? 'captured' : 'eager'}`;
    const made = (options: kn.nn.StatefulOptions = {}): Layer => {
      const layer = layerOf(kind, options);
      return hybridized ? layer.hybridize() : layer;
    };

    test(`sequences and steps go on where the last call ended: ${how}`, () => {
      const layer = made();
      const plain = [new Plain(layer), new Plain(layer)];
      const expected = (x: kn.NDArray): number[][][] =>
        (x.tolist() as number[][][]).map((steps, n) => steps.map((step) => plain[n].step(step)));
      for (const [i, length] of [3, 1, 3, 3].entries()) {
        const x = data(i, 2, length, channels);
        const actual = layer.call(x);
        assert.deepEqual(actual.shape, [2, length, size]);
        assertClose(flat(actual), expected(x).flat(2));
        const step = data(10 + i, 2, channels);
        assertClose(flat(layer.call(step)), expected(step.reshape([2, 1, channels])).flat(2));
      }
      const carried = kind === 'StatefulLSTM' ? ['h', 'c'] : ['h'];
      for (const key of carried as ('h' | 'c')[]) {
        assertClose(
          flat(layer.state[key]!.value),
          plain.flatMap((each) => each[key]),
        );
      }
    });

    test(`time may come first: ${how}`, () => {
      const [first, last] = [made({ layout: 'TNC' }), made()];
      for (const seed of [1, 2, 3]) {
        const x = data(seed, 2, 4, channels);
        const turned = first.call(x.transpose([1, 0, 2]));
        assert.deepEqual(turned.transpose([1, 0, 2]).tolist(), last.call(x).tolist());
      }
    });

    test(`no steps leave the state as it is: ${how}`, () => {
      const layer = made();
      layer.call(data(1, 2, 3, channels));
      const before = statesOf(layer);
      assert.deepEqual(layer.call(kn.zeros([2, 0, channels])).shape, [2, 0, size]);
      assert.deepEqual(statesOf(layer), before);
    });

    test(`after a reset it starts anew, with any batch size: ${how}`, () => {
      const layer = made();
      const fresh = (x: kn.NDArray): number[] => flat(layerOf(kind).call(x));
      for (const batch of [2, 2, 4, 2, 4, 4, 1]) {
        const [x, y] = [data(batch, batch, 3, channels), data(9, batch, 3, channels)];
        assertClose(flat(layer.call(x)), fresh(x));
        layer.call(y);
        refuses(
          () => layer.call(kn.zeros([batch + 1, 3, channels])),
          kn.ShapeError,
          'another size',
          `a batch of ${batch}`,
          `a batch of ${batch + 1}`,
          'resetState()',
        );
        // A size whose graph exists is refused all the same.
        refuses(
          () => layer.call(kn.zeros([batch === 2 ? 4 : 2, 3, channels])),
          kn.ShapeError,
          'resetState()',
        );
        assert.equal(layer.state.batch, batch);
        layer.resetState();
      }
    });

    test(`what is neither a step nor a sequence is refused: ${how}`, () => {
      const layer = made();
      refuses(() => layer.call(kn.zeros([2])), kn.ShapeError, '(batch, time, channels)', 'rank 1');
      refuses(
        () => made({ layout: 'TNC' }).call(kn.zeros([2, 2, 2, 2])),
        kn.ShapeError,
        '(time, batch, channels)',
      );
    });

    test(`states are written once a call: ${how}`, () => {
      const layer = made();
      const calls = 4;
      layer.call(data(0, 2, 3, channels)); // the state exists from here on
      for (const parameter of layer.state.values) {
        const write = mock.method(parameter.value, 'assign');
        for (let i = 0; i < calls; i++) layer.forward(data(i, 2, 3, channels));
        assert.equal(write.mock.callCount(), calls);
        write.mock.restore();
      }
      const before = new Loop(layer.cell, 2);
      before.states = layer.state.values.map(({ value }) => value.add(0));
      const x = data(7, 2, 3, channels);
      layer.call(x);
      before.call(stepsOf(x));
      before.states.forEach((state, i) =>
        assertClose(flat(layer.state.values[i].value), flat(state)),
      );
    });

    test(`a saved state goes on elsewhere, before sizes are known, too: ${how}`, () => {
      const layer = made();
      const [x, y] = [data(1, 2, 3, channels), data(2, 2, 3, channels)];
      layer.call(x);
      const bytes = layer.toSafetensors();
      const expected = layer.call(y).tolist();
      const other = new kn.nn[kind](size);
      if (hybridized) other.hybridize();
      other.fromSafetensors(bytes);
      assert.deepEqual(other.state.batch, 2);
      assert.deepEqual(other.call(y).tolist(), expected);
      layer.fromSafetensors(bytes);
      assert.deepEqual(layer.call(y).tolist(), expected);
      other.resetState();
      assert.deepEqual(other.call(x).tolist(), layerOf(kind).call(x).tolist());
    });
  }

  /** Losses, gradients and states of several calls in each of several recordings. */
  const trained = (net: Net, run: (x: kn.NDArray) => kn.NDArray): number[] => {
    const results: number[] = [];
    for (const seed of [1, 2, 3, 4]) {
      const batch = data(seed, 2, 3, channels);
      const loss = autograd.record(() => run(batch).square().sum());
      loss.backward();
      const trainable = [...net.parameters().values()].filter(({ gradReq }) => gradReq !== 'null');
      const evaluated = autograd.predictMode(() => net.call(batch.neg()));
      results.push(
        ...flat(loss),
        ...trainable.flatMap(({ grad }) => flat(grad!)),
        ...flat(evaluated),
        ...statesOf(net.recurrent),
      );
    }
    return results;
  };

  test(`gradients flow through one call and no further: ${kind}`, () => {
    const net = netOf(kind);
    const plain = netOf(kind);
    const loop = new Loop(plain.recurrent.cell, 2);
    const through = (x: kn.NDArray): kn.NDArray =>
      kn.stack(loop.call(stepsOf(plain.before.call(x))), 1).mul(2);
    for (const seed of [1, 2, 3]) {
      const [x, y] = [data(seed, 2, 3, channels), data(seed + 9, 2, 2, channels)];
      const gradients = (owner: Net, f: (x: kn.NDArray) => kn.NDArray): number[] => {
        autograd.record(() => f(x).sum().add(f(y).square().sum())).backward();
        return [owner.before, owner.recurrent.cell].flatMap((block) =>
          [...block.parameters().values()].flatMap(({ grad }) => flat(grad!)),
        );
      };
      assertClose(
        gradients(net, (v) => net.call(v)),
        gradients(plain, through),
      );
    }
  });

  test(`a hybridized net, alone or called twice by a hybridized function, is the eager one: ${kind}`, () => {
    const twice =
      (net: Net) =>
      (x: kn.NDArray): kn.NDArray =>
        net.call(net.call(x).slice('...', [0, channels]));
    const eager = netOf(kind);
    const expected = trained(eager, twice(eager));
    const net = netOf(kind).hybridize();
    assertClose(trained(net, twice(net)), expected);
    const inside = netOf(kind);
    assertClose(trained(inside, kn.hybridize(twice(inside))), expected);
    const both = netOf(kind).hybridize();
    assertClose(trained(both, kn.hybridize(twice(both))), expected);
  });

  test(`a whole captured step trains like the eager one: ${kind}`, () => {
    const make = (): { net: Net; step: (x: kn.NDArray) => kn.NDArray } => {
      const net = netOf(kind);
      net.call(kn.zeros([2, 1, channels])); // sizes are known from here on
      net.recurrent.resetState();
      const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.05, momentum: 0.9 });
      const step = (x: kn.NDArray): kn.NDArray => {
        const loss = autograd.record(() => net.call(x).sub(1).square().mean());
        loss.backward();
        optimizer.step();
        return loss;
      };
      return { net, step };
    };
    const [eager, captured] = [make(), make()];
    const step = kn.hybridize(captured.step);
    for (const seed of [1, 2, 3, 4, 5]) {
      const x = data(seed, 2, 3, channels);
      assertClose([Number(step(x).item())], [Number(eager.step(x).item())]);
      assertClose(statesOf(captured.net.recurrent), statesOf(eager.net.recurrent));
    }
    const values = ({ net }: typeof eager): number[] =>
      [...net.parameters().values()].flatMap(({ value }) => flat(value));
    assertClose(values(captured), values(eager));
  });

  test(`captured code resets, too: ${kind}`, () => {
    const make = (layer: Layer) => (x: kn.NDArray) => {
      layer.resetState();
      const first = layer.call(x);
      return first.add(layer.call(x));
    };
    const [eager, captured] = [layerOf(kind), layerOf(kind)];
    const f = kn.hybridize(make(captured));
    for (const seed of [1, 2, 3]) {
      const x = data(seed, 2, 3, channels);
      assertClose(flat(f(x)), flat(make(eager)(x)));
      assertClose(statesOf(captured), statesOf(eager));
    }
    const other = data(4, 5, 3, channels);
    for (let i = 0; i < 3; i++) {
      assertClose(flat(f(other)), flat(make(eager)(other)));
    }
    const again = data(1, 2, 3, channels);
    for (let i = 0; i < 3; i++) {
      assertClose(flat(f(again)), flat(make(eager)(again)));
    }
  });

  test(`functions go on with the states of a size after other sizes: ${kind}`, () => {
    const layer = layerOf(kind);
    const f = kn.hybridize((x: kn.NDArray) => layer.call(x));
    const eager = layerOf(kind);
    for (const batch of [2, 4, 2, 4, 2]) {
      for (const seed of [1, 2, 3]) {
        const x = data(seed, batch, 3, channels);
        assertClose(flat(f(x)), flat(eager.call(x)));
      }
      layer.resetState();
      eager.resetState();
    }
    assert.equal(f.explain().traces.length, 2);
  });

  test(`within one capture, another batch size without a reset is refused: ${kind}`, () => {
    const layer = layerOf(kind);
    const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => [layer.call(x), layer.call(y)]);
    refuses(
      () => f(data(1, 2, 3, channels), data(1, 4, 3, channels)),
      kn.ShapeError,
      'a batch of 4',
      'resetState()',
    );
  });

  test(`a reset at the same size needs no new capture: ${kind}`, () => {
    const net = netOf(kind).hybridize();
    const x = data(1, 2, 3, channels);
    const expected = net.call(x).tolist();
    for (let i = 0; i < 3; i++) {
      net.call(x);
      net.recurrent.resetState();
      assert.deepEqual(net.call(x).tolist(), expected);
    }
    assert.equal(net.explain().traces.length, 1);
  });

  test(`input sizes are taken from the first call, captured or not: ${kind}`, () => {
    const outputs = [false, true].map((hybridized) => {
      kn.random.seed(1);
      const layer = new kn.nn[kind](size);
      layer.initialize();
      if (hybridized) layer.hybridize();
      const x = data(1, 2, 3, 5);
      const output = layer.call(x);
      assert.deepEqual(layer.cell.inputWeight.shape.slice(1), [5]);
      return [...flat(output), ...flat(layer.call(x))];
    });
    assertClose(outputs[1], outputs[0]);
  });
}
