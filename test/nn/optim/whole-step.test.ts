import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

/** Whole training steps as one captured program, beside the same code run eagerly. */

class Net extends kn.nn.HybridBlock {
  first = new kn.nn.Dense(6, { activation: 'tanh' });
  norm = new kn.nn.BatchNorm();
  drop = new kn.nn.Dropout(0.25);
  last = new kn.nn.Dense(3);

  forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(this.drop.call(this.norm.call(this.first.call(x))));
  }
}

type Parameters = ReadonlyMap<string, kn.nn.Parameter>;

interface Run {
  readonly net: Net;
  readonly optimizer: kn.optim.Optimizer;
  readonly step: (x: kn.NDArray, y: kn.NDArray) => kn.NDArray;
}

function prepare(make: (parameters: Parameters) => kn.optim.Optimizer): Run {
  kn.random.seed(11);
  const net = new Net().initialize();
  net.call(data().x);
  const optimizer = make(net.parameters());
  const step = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => {
    const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), y));
    loss.backward();
    optimizer.step();
    return loss;
  };
  return { net, optimizer, step };
}

function data(seed = 5): { readonly x: kn.NDArray; readonly y: kn.NDArray } {
  const values = Float32Array.from({ length: 32 }, (_, i) => Math.sin(i * i + seed));
  return {
    x: kn.array(values, { shape: [8, 4] }),
    y: kn.array(Int32Array.from({ length: 8 }, (_, i) => (i * seed) % 3)),
  };
}

const state = ({ net }: Run): Record<string, number[]> =>
  Object.fromEntries(
    [...net.parameters()].map(([name, { value }]) => [
      name,
      Array.from(value.dataSync() as Float32Array),
    ]),
  );

const optimizers: Record<string, (parameters: Parameters) => kn.optim.Optimizer> = {
  SGD: (p) => new kn.optim.SGD(p, { learningRate: 0.1 }),
  'SGD with momentum': (p) => new kn.optim.SGD(p, { learningRate: 0.1, momentum: 0.9 }),
  Adam: (p) => new kn.optim.Adam(p, { learningRate: 0.01, epsilon: 1e-3 }),
  AdamW: (p) => new kn.optim.AdamW(p, { learningRate: 0.01, epsilon: 1e-3 }),
  RMSProp: (p) => new kn.optim.RMSProp(p, { learningRate: 0.01, epsilon: 1e-3 }),
  Adagrad: (p) => new kn.optim.Adagrad(p, { learningRate: 0.01, epsilon: 1e-3 }),
  Lion: (p) => new kn.optim.Lion(p, { learningRate: 0.001 }),
};

for (const [name, make] of Object.entries(optimizers)) {
  test(`${name}: forward, backward and step in one program do what they do one by one`, () => {
    const eager = prepare(make);
    const losses = [1, 2, 3, 4].map((seed) => {
      const { x, y } = data(seed);
      return Number(eager.step(x, y).item());
    });
    const whole = prepare(make);
    const step = kn.hybridize(whole.step);
    const found = [1, 2, 3, 4].map((seed) => {
      const { x, y } = data(seed);
      return Number(step(x, y).item());
    });
    assertClose(found, losses, 1e-5);
    assert.equal(whole.optimizer.steps, 4);
    assert.equal(step.explain().traces.length, 1);
    const [expected, actual] = [state(eager), state(whole)];
    for (const [parameter, values] of Object.entries(expected)) {
      assertClose(actual[parameter], values, 2e-4, parameter);
    }
  });
}

/** Minimizes a w^2 / 2, so that every number of the step can be written down. */
function parabola(learningRate: kn.optim.LearningRate, gradReq: kn.GradReq = 'write') {
  const weight = new kn.nn.Parameter({ shape: [2], gradReq });
  weight.assign([1, -2]);
  const optimizer = new kn.optim.SGD(new Map([['w', weight]]), { learningRate });
  const backward = (a: kn.NDArray): void =>
    kn.autograd.record(() => weight.value.square().mul(a).mul(0.5).sum()).backward();
  return { weight, optimizer, backward };
}

test('a learning rate that changes is an input: no further trace', () => {
  const { weight, optimizer, backward } = parabola(0.5);
  const step = kn.hybridize((a: kn.NDArray) => {
    backward(a);
    optimizer.step();
  });
  const a = kn.array([1, 2]);
  let expected = [1, -2];
  for (const rate of [0.5, 0.25, 0, 0.125]) {
    optimizer.learningRate = rate;
    step(a);
    expected = expected.map((w, i) => w - rate * [1, 2][i] * w);
    assert.deepEqual(weight.value.tolist(), expected);
  }
  assert.equal(step.explain().traces.length, 1);
});

test('a schedule goes on from step to step, also when one call takes several', () => {
  const seen: number[] = [];
  const { weight, optimizer, backward } = parabola((step) => {
    seen.push(step);
    return 1 / 2 ** (step + 1);
  });
  const twice = kn.hybridize((a: kn.NDArray) => {
    for (let i = 0; i < 2; i++) {
      backward(a);
      optimizer.step();
    }
  });
  const a = kn.array([1, 1]);
  twice(a);
  twice(a);
  assert.deepEqual(seen, [0, 1, 2, 3]);
  assert.equal(optimizer.steps, 4);
  const left = [0, 1, 2, 3].reduce((w, step) => w * (1 - 1 / 2 ** (step + 1)), 1);
  assert.deepEqual(weight.value.tolist(), [left, -2 * left]);
});

test('after a whole step the gradients are there, and a later step does not change one that was read', () => {
  const { weight, optimizer, backward } = parabola(0.5);
  const step = kn.hybridize((a: kn.NDArray) => {
    backward(a);
    optimizer.step();
  });
  step(kn.array([1, 2]));
  const first = weight.grad!;
  assert.deepEqual(first.tolist(), [1, -4]);
  assert.equal(weight.grad, first);
  step(kn.array([1, 2]));
  assert.deepEqual(weight.grad!.tolist(), [0.5, 0]);
  assert.deepEqual(first.tolist(), [1, -4]);
});

test('gradients accumulate over calls, and zeroGrad inside the function starts again', () => {
  const { weight, optimizer, backward } = parabola(1, 'add');
  const accumulate = kn.hybridize((a: kn.NDArray) => backward(a));
  const finish = kn.hybridize(() => {
    optimizer.step();
    optimizer.zeroGrad();
  });
  for (let round = 0; round < 3; round++) {
    const before = weight.value.tolist() as number[];
    for (let i = 0; i < 3; i++) accumulate(kn.array([0.125, 0.25]));
    assert.deepEqual(weight.grad!.tolist(), [3 * 0.125 * before[0], 3 * 0.25 * before[1]]);
    finish();
    assert.deepEqual(weight.grad!.tolist(), [0, 0]);
    assert.deepEqual(weight.value.tolist(), [
      before[0] - 3 * 0.125 * before[0],
      before[1] - 3 * 0.25 * before[1],
    ]);
  }
});

test('clipping is part of the captured step', () => {
  const { weight, optimizer, backward } = parabola(1);
  const step = kn.hybridize((a: kn.NDArray) => {
    backward(a);
    const norm = kn.optim.clipGlobalNorm(optimizer.parameters, 1);
    optimizer.step();
    return norm;
  });
  for (let i = 0; i < 3; i++) {
    weight.assign([3, -4]);
    assert.equal(step(kn.array([1, 1])).item(), 5);
    assertClose(weight.grad!.tolist() as number[], [0.6, -0.8], 1e-6);
    assertClose(weight.value.tolist() as number[], [2.4, -3.2], 1e-6);
  }
});

test('parameters and their state are updated where they lie', () => {
  const run = prepare((p) => new kn.optim.Adam(p, { learningRate: 0.01 }));
  const step = kn.hybridize(run.step);
  const { x, y } = data();
  const values = [...run.net.parameters().values()].map(({ value }) => value);
  const slots = [...run.optimizer.state().arrays.values()];
  const homes = [...values, ...slots].map((array) => array.storage.host.byteOffset);
  for (let i = 0; i < 3; i++) step(x, y);
  assert.deepEqual(
    [...run.net.parameters().values()].map(({ value }) => value),
    values,
  );
  for (const array of [...values, ...slots]) assert.ok(array.storage.isPinned);
  assert.deepEqual(
    [...values, ...slots].map((array) => array.storage.host.byteOffset),
    homes,
  );
});

test('the rate and the number of steps are not to be looked at in captured code', () => {
  const { weight, optimizer } = parabola(0.5);
  const cases: Record<string, () => unknown> = {
    'the learning rate was read': () => optimizer.learningRate,
    'the learning rate was set': () => (optimizer.learningRate = 1),
    'value of an array from outside was read': () => optimizer.steps,
    'from outside was read while': () => weight.value.tolist(),
  };
  for (const [text, look] of Object.entries(cases)) {
    const captured = kn.hybridize(() => {
      look();
      return weight.value.add(1);
    });
    assert.throws(captured, (error) => {
      assert.ok(error instanceof kn.TraceError, String(error));
      assert.match(error.message, new RegExp(text));
      assert.match(error.source ?? '', /whole-step\.test/);
      return true;
    });
  }
  assert.equal(optimizer.learningRate, 0.5);
  assert.deepEqual(weight.value.tolist(), [1, -2]);
});

test('a step without gradients is refused before anything changes, captured or not', () => {
  const weight = new kn.nn.Parameter({ shape: [null] });
  const optimizer = new kn.optim.SGD(new Map([['w', weight]]), { learningRate: 1 });
  for (const step of [() => optimizer.step(), kn.hybridize(() => optimizer.step())]) {
    assert.throws(step, kn.ArgumentError);
  }
  assert.equal(optimizer.steps, 0);
});

test('a saved step goes on training by itself', () => {
  const make = (p: Parameters): kn.optim.Optimizer => new kn.optim.Adam(p, { learningRate: 0.01 });
  const run = prepare(make);
  const step = kn.hybridize(run.step);
  const { x, y } = data();
  step(x, y);
  const saved = JSON.stringify(step.graphFor(x, y).toJSON());
  const { seed, counter } = kn.random.getState();
  const expected = [step(x, y), step(x, y)].map((loss) => Number(loss.item()));
  const loaded = kn.StaticGraph.fromJSON(saved);
  kn.random.setState({ seed, counter });
  const [input, labels] = loaded.inputNames;
  const found = [1, 2].map(() => {
    const [loss] = Object.values(loaded.run({ [input]: x, [labels]: y }));
    return Number(loss.item());
  });
  assert.deepEqual(found, expected);
});

test('training in whole steps resumes bit for bit from a checkpoint', () => {
  const make = (p: Parameters): kn.optim.Optimizer =>
    new kn.optim.AdamW(p, { learningRate: (step) => 0.01 / (1 + step) });
  const train = (run: Run, seeds: readonly number[]): void => {
    const step = kn.hybridize(run.step);
    for (const seed of seeds) {
      const { x, y } = data(seed);
      step(x, y);
    }
  };
  const whole = prepare(make);
  train(whole, [1, 2, 3, 4, 5]);
  const first = prepare(make);
  train(first, [1, 2]);
  const bytes = kn.encodeCheckpoint({ net: first.net, optimizer: first.optimizer });
  const second = prepare(make);
  kn.decodeCheckpoint(bytes, { net: second.net, optimizer: second.optimizer });
  assert.equal(second.optimizer.steps, 2);
  train(second, [3, 4, 5]);
  assert.deepEqual(state(second), state(whole));
});

test('the first call of a whole step takes one step', () => {
  const { weight, optimizer, backward } = parabola(0.5);
  let runs = 0;
  const step = kn.hybridize(
    (a: kn.NDArray) => {
      runs++;
      backward(a);
      optimizer.step();
    },
    { verify: 'off' },
  );
  step(kn.array([1, 1]));
  assert.deepEqual([runs, optimizer.steps, weight.value.tolist()], [1, 1, [0.5, -1]]);
});

test('backward uses state as forward has read it, though it was written in between', () => {
  const make = (): (() => kn.NDArray[]) => {
    const state = kn.array([2]);
    state.attachGrad({ req: 'null' });
    const w = kn.array([1]);
    w.attachGrad();
    return () => {
      const loss = kn.autograd.record(() => {
        const y = w.mul(state);
        state.assign(state.mul(10));
        return y.add(w.mul(state)).sum();
      });
      loss.backward();
      return [w.grad!.add(0), state.add(0)];
    };
  };
  for (const step of [make(), kn.hybridize(make()), kn.staticGraph(make())]) {
    for (const expected of [
      [[22], [20]],
      [[220], [200]],
      [[2200], [2000]],
    ]) {
      assert.deepEqual(
        step().map((array) => array.tolist()),
        expected,
      );
    }
  }
});

test('the graph of a step names what it reads: parameters by path, optimizer state, the rate', () => {
  const run = prepare((p) => new kn.optim.SGD(p, { learningRate: 0.1, momentum: 0.9 }));
  const { x, y } = data();
  const graph = kn.hybridize(run.step).graphFor(x, y);
  const names = [...graph.parameters.keys()];
  for (const name of [
    'first.weight',
    'norm.runningMean',
    'last.bias',
    'last.bias/momentum',
    'steps',
  ]) {
    assert.ok(names.includes(name), `${name} among ${names.join(', ')}`);
  }
  assert.ok(graph.program.inputs.length > names.length + 2);
});
