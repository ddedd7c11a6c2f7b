import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';

/* Training through captured blocks: what one iteration may do, always beside the same code run eagerly. */

const { autograd } = kn;

class Net extends kn.nn.HybridBlock {
  body: kn.nn.Dense = new kn.nn.Dense(4, { inputs: 3, activation: 'tanh', dtype: 'float64' });
  norm: kn.nn.BatchNorm = new kn.nn.BatchNorm({ axis: -1 });
  drop: kn.nn.Dropout = new kn.nn.Dropout(0.25);
  head: kn.nn.Dense = new kn.nn.Dense(3, { inputs: 4, dtype: 'float64' });

  override forward(x: kn.NDArray): kn.NDArray {
    return this.head.call(this.drop.call(this.norm.call(this.body.call(x))));
  }
}

/**
 * Runs a scenario on an eager and on a captured network of equal weights, and compares all that it says. In float64,
 * since some of the gradients are what is left of terms that are a hundred times as large, which eager and captured
 * products need not add up alike; only what the normalization keeps is rounded to float32.
 */
function eagerAndCaptured(
  line: string,
  scenario: (net: Net, log: (...values: readonly unknown[]) => void) => void,
): void {
  const run = (options: kn.HybridizeOptions): unknown[] => {
    kn.random.seed(5);
    const net = new Net().initialize().hybridize(options);
    const seen: unknown[] = [];
    scenario(net, (...values) =>
      seen.push(...values.map((value) => (value instanceof kn.NDArray ? value.tolist() : value))),
    );
    for (const { value, grad } of net.parameters().values()) {
      seen.push(value.tolist(), grad?.tolist() ?? []);
    }
    seen.push(Number(kn.random.getState().counter));
    return seen;
  };
  test(line, () => {
    const [captured, eager] = [run({}), run({ active: false })];
    assert.equal(captured.length, eager.length);
    eager.forEach((each, i) => near(captured[i], each, 1e-6));
  });
}

const batch = (rows: number, from: number = 0): kn.NDArray =>
  kn.linspace(from, from + 2, rows * 3, { dtype: 'float64' }).reshape([rows, 3]).sin(); // prettier-ignore

eagerAndCaptured('any number of calls of one block in an iteration, each with distinct activations', (net, log) => {
  for (let step = 0; step < 3; step++) {
    const outputs = autograd.record(() => [1, 2, 3, 4].map((k) => net.call(batch(4, k + step))));
    const loss = autograd.record(() => outputs.map((y, k) => y.square().sum().mul(k + 1)).reduce((a, b) => a.add(b)));
    log(...outputs, loss);
    loss.backward();
    log(...[...net.parameters().values()].map(({ grad }) => grad ?? 0));
  }
}); // prettier-ignore

eagerAndCaptured('a block called on its own result', (net, log) => {
  for (let step = 0; step < 3; step++) {
    const y = autograd.record(() => net.call(net.call(net.call(batch(4, step)))));
    y.backward();
    log(y, net.head.weight.grad!);
  }
});

eagerAndCaptured('interleaved shapes and modes, each with distinct activations', (net, log) => {
  for (let step = 0; step < 2; step++) {
    const a = autograd.record(() => net.call(batch(4)));
    log(net.call(batch(2)));
    const b = autograd.record(() => net.call(batch(6)));
    const c = autograd.record(() => net.call(batch(4, 1)), { trainMode: false });
    log(autograd.predictMode(() => net.call(batch(4))));
    const loss = autograd.record(() => a.sum().add(b.square().sum()).add(c.exp().sum()));
    loss.backward();
    log(loss, a, b, c, net.body.weight.grad!);
  }
});

eagerAndCaptured('backward passes in another order than the calls', (net, log) => {
  const losses = [0, 1, 2].map((k) => autograd.record(() => net.call(batch(4, k)).square().sum()));
  for (const loss of losses.toReversed()) {
    loss.backward();
    log(net.body.weight.grad!, net.head.bias!.grad!);
  }
});

eagerAndCaptured('a call whose result is dropped leaves the others alone', (net, log) => {
  const kept = autograd.record(() => {
    const y = net.call(batch(4));
    net.call(batch(4, 1));
    return y.square().sum();
  });
  kept.backward();
  log(net.body.weight.grad!);
});

eagerAndCaptured('head gradients', (net, log) => {
  for (let step = 0; step < 3; step++) {
    const y = autograd.record(() => net.call(batch(4)));
    y.backward(batch(4, step));
    log(net.body.weight.grad!, net.norm.gamma.grad!);
  }
});

eagerAndCaptured('retained graphs: two passes through the same call', (net, log) => {
  const y = autograd.record(() => net.call(batch(4)));
  y.backward(batch(4), { retainGraph: true });
  log(net.body.weight.grad!);
  y.backward(batch(4, 1));
});

eagerAndCaptured('gradients of gradients through compiled blocks', (net, log) => {
  for (let step = 0; step < 3; step++) {
    const x = batch(4);
    const { y, penalty } = autograd.record(
      () => {
        const [y, dx] = kn.valueAndGrad((v: kn.NDArray) => net.call(v).sin().mean())(x);
        return { y, penalty: dx.square().sum() };
      },
      { trainMode: false },
    );
    penalty.backward();
    log(y, penalty, net.body.weight.grad!, net.head.weight.grad!);
  }
});

eagerAndCaptured('gradients with respect to inputs and parameters at once, by autograd.grad', (net, log) => {
  const x = batch(4);
  const y = autograd.record(() => net.call(x).square().sum());
  const grads = autograd.grad(y, [x, net.body.weight.value, net.head.bias!.value]);
  log(...grads, net.body.weight.grad!);
}); // prettier-ignore

eagerAndCaptured("`grad_req` semantics: 'add' accumulates over calls and passes", (net, log) => {
  net.body.weight.value.attachGrad({ req: 'add' });
  for (let step = 0; step < 3; step++) {
    autograd.record(() => net.call(batch(4)).add(net.call(batch(4, step))).sum()).backward(); // prettier-ignore
    log(net.body.weight.grad!, net.head.weight.grad!);
  }
  net.body.weight.value.attachGrad({ req: 'add' });
  log(net.body.weight.grad!);
});

eagerAndCaptured("`grad_req` semantics: 'null' freezes, and may be lifted again", (net, log) => {
  net.body.weight.value.attachGrad({ req: 'null' });
  autograd.record(() => net.call(batch(4)).sum()).backward();
  log(net.body.weight.grad === null, net.body.bias!.grad!);
  net.body.weight.value.attachGrad();
  autograd.record(() => net.call(batch(4)).square().sum()).backward();
  log(net.body.weight.grad!);
});

eagerAndCaptured('participants that get zero: a block whose output counts for nothing', (net, log) => {
  autograd.record(() => net.call(batch(4)).sum()).backward();
  const w = kn.ones([1]);
  w.attachGrad();
  autograd.record(() => {
    net.call(batch(4));
    return w.mul(2);
  }).backward();
  log(w.grad!, net.body.weight.grad!, net.head.weight.grad!);
}); // prettier-ignore

eagerAndCaptured(
  'batch-norm statistics and other block state updated exactly once a call',
  (net, log) => {
    autograd.record(() => {
      for (const k of [0, 1, 2]) {
        log(net.call(batch(4, k)));
        log(net.norm.runningMean.value, net.norm.runningVariance.value);
      }
    });
    net.call(batch(4, 3));
    log(net.norm.runningMean.value);
  },
);

eagerAndCaptured('whole optimizer steps in between', (net, log) => {
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.05 });
  for (let step = 0; step < 4; step++) {
    const loss = autograd.record(() => kn.nn.loss.mse(net.call(batch(4 + (step % 2))), batch(4 + (step % 2), 1))); // prettier-ignore
    loss.backward();
    optimizer.step();
    log(loss);
  }
});

test('batch-norm statistics: running = momentum * running + (1 - momentum) * batch, once a call, from the first', () => {
  for (const active of [false, true]) {
    const norm = new kn.nn.BatchNorm({ momentum: 0.75 }).initialize().hybridize({ active });
    let [mean, variance] = [0, 1];
    for (const values of [[1, 3], [2, 8], [0, 4], [5, 5]]) {
      autograd.record(() => norm.call(kn.array(values).reshape([2, 1])));
      const m = (values[0] + values[1]) / 2;
      const v = (values[0] - m) ** 2 + (values[1] - m) ** 2; // of two: divided by one
      mean = 0.75 * mean + 0.25 * m;
      variance = 0.75 * variance + 0.25 * v;
      near([norm.runningMean.value.item(), norm.runningVariance.value.item()], [mean, variance], 1e-6);
      norm.call(kn.array([[100], [200]]));
      near(norm.runningMean.value.item(), mean, 1e-6);
    }
  }
}); // prettier-ignore

test('dropout fresh on every replay and reproducible from the seed, eager and captured', () => {
  const draw = (active: boolean): string[] => {
    kn.random.seed(77);
    const drop = new kn.nn.Dropout(0.5).initialize().hybridize({ active });
    return [1, 2, 3, 4, 5].map(() => String(autograd.trainMode(() => drop.call(kn.ones([50]))).tolist()));
  };
  const captured = draw(true);
  assert.deepEqual(captured, draw(true));
  assert.deepEqual(captured, draw(false));
  assert.equal(new Set(captured).size, 5);
}); // prettier-ignore

test('dropout: the backward pass uses the mask of its own call', () => {
  for (const active of [false, true]) {
    const drop = new kn.nn.Dropout(0.5).initialize().hybridize({ active });
    const xs = [1, 2, 3].map(() => kn.ones([40]));
    for (const x of xs) x.attachGrad();
    const ys = xs.map((x) => autograd.record(() => drop.call(x)));
    for (const y of ys.toReversed()) y.backward();
    xs.forEach((x, i) => assert.deepEqual(x.grad!.tolist(), ys[i].tolist()));
  }
});

test('state written by `parameter.assign` inside captured code: once a call, seen by the next', () => {
  class Counter extends kn.nn.HybridBlock {
    count: kn.nn.Parameter = new kn.nn.Parameter({ shape: [], gradReq: 'null' });
    override forward(x: kn.NDArray): kn.NDArray {
      this.count.assign(this.count.value.add(1));
      const y = x.mul(this.count.value);
      this.count.assign(this.count.value.add(1));
      return y;
    }
  }
  for (const active of [false, true]) {
    const net = new Counter().initialize().hybridize({ active });
    assert.deepEqual([1, 2, 3].map(() => net.call(kn.array(10)).item()), [10, 30, 50]); // prettier-ignore
    assert.equal(net.count.value.item(), 6);
    const outer = kn.hybridize((x: kn.NDArray) => net.call(x).add(net.call(x)));
    assert.deepEqual([outer(kn.array(1)).item(), outer(kn.array(1)).item()], [7 + 9, 11 + 13]);
    assert.equal(net.count.value.item(), 14);
  }
});
