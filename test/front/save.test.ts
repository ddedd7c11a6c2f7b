import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { differences, near } from './support.js';

const { autograd } = kn;
const policies = ['all', 'auto', 'none', 200, 1000] as const;
type Fn = (...arrays: kn.NDArray[]) => kn.NDArray;

const wave = (shape: readonly number[], seed: number, scale = 1): kn.NDArray => {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Array.from({ length: size }, (_, i) => scale * Math.sin(seed + 1.3 * i));
  return kn.array(data, { dtype: 'float64' }).reshape([...shape]);
};

/** The result of a function of arrays and the gradients of its sum. */
function gradients(f: Fn, arrays: readonly kn.NDArray[]): unknown {
  for (const array of arrays) array.attachGrad();
  const y = autograd.record(() => f(...arrays));
  y.backward();
  return [y.tolist(), ...arrays.map(({ grad }) => grad!.tolist())];
}

const network: Fn = (x, w, v) => {
  let h = x;
  for (let layer = 0; layer < 4; layer++) h = kn.gelu(h.matmul(w)).add(v.mul(0.5)).sin();
  return kn.softmax(h.matmul(w)).mul(h);
};

test('every policy gives the gradients of eager code', () => {
  const arrays = (): kn.NDArray[] => [wave([3, 4], 1), wave([4, 4], 2), wave([4], 3)];
  const expected = gradients(network, arrays());
  for (const save of policies) {
    const f = kn.hybridize(network, { save });
    for (let call = 0; call < 2; call++) near(gradients(f, arrays()), expected, 1e-12);
  }
});

test('gradients of gradients, too, and they agree with differences', () => {
  const f: Fn = (x) => kn.gelu(x.mul(x).sin()).mul(x.exp()).sum();
  const at = [0.3, -0.8, 1.1];
  const weights = wave([3], 5);
  const second = (g: Fn): Fn => (x) => kn.grad(g)(x).mul(weights).sum();
  const point = kn.array(at, { dtype: 'float64' });
  const numeric = differences(second(f), at);
  const expected = kn.grad(second(f))(point).tolist();
  near(expected, numeric, 1e-6);
  for (const save of policies) {
    const h = kn.hybridize(f, { save });
    near(kn.grad(h)(point).tolist(), differences(f, at), 1e-6);
    near(kn.grad(second(h))(point).tolist(), expected, 1e-11);
    near(kn.grad(second(second(h)))(point).tolist(), kn.grad(second(second(f)))(point).tolist(), 1e-9); // prettier-ignore
  }
}); // prettier-ignore

test('dropout: the mask of the forward pass, drawn anew at each call', () => {
  const layers: Fn = (x, w) => {
    let h = x;
    for (let layer = 0; layer < 3; layer++) {
      const mask = kn.random.bernoulli(h.shape, { p: 0.5, dtype: 'float64' });
      h = kn.gelu(h.matmul(w)).mul(mask).mul(2);
    }
    return h.sin();
  };
  const arrays = (): kn.NDArray[] => [wave([4, 6], 1), wave([6, 6], 2)];
  kn.random.seed(11);
  const expected = [0, 1, 2].map(() => gradients(layers, arrays()));
  assert.notDeepEqual(expected[0], expected[1]);
  for (const save of policies) {
    kn.random.seed(11);
    const f = kn.hybridize(layers, { save });
    expected.forEach((wanted) => near(gradients(f, arrays()), wanted, 1e-12));
  }
});

test('state that a call writes is computed with as it was read', () => {
  for (const save of policies) {
    const [eager, captured] = [undefined, save].map((policy) => {
      const state = kn.array([2, 3], { dtype: 'float64' });
      state.attachGrad({ req: 'null' });
      const f: Fn = (x) => {
        const y = x.mul(state).sin().mul(state.exp());
        state.assign(state.mul(0.5).add(x));
        return y.sin();
      };
      const g = policy === undefined ? f : kn.hybridize(f, { save: policy });
      const x = kn.array([0.5, -1], { dtype: 'float64' });
      x.attachGrad();
      // Two calls in one recording: each has read another state.
      autograd.record(() => g(x).add(g(x))).backward();
      return [x.grad!.tolist(), state.tolist()];
    });
    near(captured, eager, 1e-12);
  }
});

test('batch norm keeps its statistics and gradients', () => {
  const run = (save: (typeof policies)[number] | null): unknown => {
    kn.random.seed(3);
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(5, { activation: 'relu' }),
      new kn.nn.BatchNorm(),
      new kn.nn.Dropout(0.3),
      new kn.nn.Dense(2),
    );
    net.initialize();
    const x = wave([6, 3], 1).astype('float32');
    net.call(x); // sizes and first values of parameters
    if (save !== null) net.hybridize({ save });
    for (let step = 0; step < 2; step++) {
      autograd.record(() => net.call(x).square().mean()).backward();
    }
    return [...net.parameters()].map(([name, { value, grad }]) => [
      name.length,
      value.tolist(),
      grad?.tolist() ?? 0,
    ]);
  };
  const expected = run(null);
  for (const save of policies) near(run(save), expected, 1e-5);
});

test('calls of other sizes and modes in between, all differentiated afterwards', () => {
  const f: Fn = (x, w) => {
    const h = kn.gelu(x.matmul(w));
    return (autograd.isTraining() ? h.sin() : h.cos()).matmul(w).tanh();
  };
  const run = (g: Fn): unknown => {
    const w = wave([4, 4], 2);
    w.attachGrad({ req: 'add' });
    const xs = [2, 5, 2, 1, 3, 5].map((rows, k) => wave([rows, 4], k));
    for (const x of xs) x.attachGrad();
    const results = xs.map((x, k) =>
      autograd.record(() => g(g(x, w), w), { trainMode: k % 2 === 0 }),
    );
    for (const result of results.reverse()) result.backward();
    return [w.grad!.tolist(), ...xs.map(({ grad }) => grad!.tolist())];
  };
  const expected = run(f);
  for (const save of ['auto', 'none', 200] as const) {
    near(run(kn.hybridize(f, { save })), expected, 1e-11);
  }
});

test('an output that is not used has no part in gradients, not even as zero times infinity', () => {
  const f = (x: kn.NDArray) => ({ used: x.exp().mul(x), unused: x.sub(x).log().mul(x) });
  for (const save of policies) {
    const h = kn.hybridize(f, { save });
    const run = (g: typeof f): unknown => {
      const x = kn.array([1, -2], { dtype: 'float64' });
      x.attachGrad();
      autograd.record(() => g(x).used.sum()).backward();
      return x.grad!.tolist();
    };
    near(run(h), run(f), 1e-14);
    near(run(h), [1, -2].map((x) => Math.exp(x) * (1 + x)), 1e-12); // prettier-ignore
  }
  const negative = kn.hybridize((x: kn.NDArray) => [x.mul(kn.array([-1])), x.mul(3)]);
  const x = kn.array([1]);
  x.attachGrad();
  autograd.record(() => negative(x)[0]).backward(kn.array([0]));
  assert.ok(Object.is(x.grad!.item(), -0), 'adding the zeros of the other output would give 0');
});

test('a checkpoint inside and around captured code', () => {
  const arrays = (): kn.NDArray[] => [wave([3, 4], 1), wave([4, 4], 2)];
  const inner: Fn = (x, w) => {
    const mask = kn.random.bernoulli([4], { p: 0.5, dtype: 'float64' });
    return kn.gelu(x.matmul(w)).sin().mul(mask);
  };
  const f: Fn = (x, w) => inner(inner(x, w), w).sin();
  kn.random.seed(5);
  const expected = gradients(f, arrays());
  for (const save of policies) {
    const forms: readonly Fn[] = [
      kn.hybridize((x, w) => kn.checkpoint(inner)(kn.checkpoint(inner)(x, w), w).sin(), { save }),
      kn.checkpoint(kn.hybridize(f, { save })),
    ];
    for (const form of forms) {
      kn.random.seed(5);
      near(gradients(form, arrays()), expected, 1e-12);
    }
  }
});
