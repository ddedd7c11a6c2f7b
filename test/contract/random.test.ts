import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';
import { near } from '../front/support.js';
import { refused } from './refusals.js';

/* "Equal seeds give equal numbers in every mode": where draws stand beside each other, and beside gradients. */

const { autograd, random } = kn;

inEveryForm('equal seeds give equal numbers: draws of all kinds, in the order of the code', {
  inputs: () => ({ x: kn.zeros([2]) }),
  code: ({ x }) => {
    const first = random.normal([2]);
    const rest = [random.uniform([2]), random.randint(0, 100, [2]), random.bernoulli([2])];
    return { last: random.uniform([2]).add(x), rest, first };
  },
});

inEveryForm('equal seeds give equal numbers: a draw that nobody uses beside one that is used', {
  inputs: () => ({ x: kn.zeros([2]) }),
  code: ({ x }) => {
    random.uniform([2]);
    return x.add(random.uniform([2]));
  },
});

inEveryForm('equal seeds give equal numbers: draws inside of a hybridized function inside', {
  inputs: () => ({ x: kn.zeros([2]) }),
  code: (() => {
    const inner = kn.hybridize((x: kn.NDArray) => x.add(random.uniform([2])));
    return ({ x }: { x: kn.NDArray }) => [random.uniform([1]), inner(x), inner(x), random.uniform([1])]; // prettier-ignore
  })(),
});

inEveryFormWithGradients('equal seeds give equal numbers: draws in both halves of a customGradient', {
  inputs: () => ({ x: kn.ones([2]) }),
  code: ({ x }) =>
    kn.customGradient({
      forward: (a) => a.mul(random.uniform([2])),
      backward: ([g], { outputs: [y] }) => g.mul(y),
    })(x).add(random.uniform([2])),
}); // prettier-ignore

test('equal seeds give equal numbers: eager and captured draws alternate', () => {
  const draw = (wrap: (fn: () => kn.NDArray[]) => () => kn.NDArray[]): unknown => {
    random.seed(3);
    const f = wrap(() => [random.uniform([1]), random.uniform([1])]);
    const calls = [1, 2, 3].map(() => [random.uniform([1]), ...f(), ...kn.deferredCompute(f)]);
    return calls.flat().map((y) => y.item());
  };
  const captured = draw((fn) => kn.hybridize(fn));
  assert.deepEqual(captured, draw((fn) => fn)); // prettier-ignore
  assert.equal(new Set(captured as number[]).size, 15);
});

test('lazy draws are the draws of the place in the code, whatever is read first', () => {
  random.seed(9);
  const eager = [1, 2, 3].map(() => random.uniform([1]).item());
  random.seed(9);
  const lazy = kn.deferredCompute(() => [1, 2, 3].map(() => random.uniform([1])));
  assert.deepEqual([2, 0, 1].map((i) => lazy[i].item()), [2, 0, 1].map((i) => eager[i])); // prettier-ignore
});

test('an exported graph draws afresh at each run, from the one generator, also when it was loaded', () => {
  const x = kn.zeros([2]);
  const y = kn.deferredCompute(() => x.add(random.uniform([2])));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  const loaded = kn.StaticGraph.fromJSON(JSON.stringify(graph));
  random.seed(6);
  const eager = [1, 2, 3, 4].map(() => random.uniform([2]).tolist());
  random.seed(6);
  const runs = [graph, loaded, graph, loaded].map((each) => each.run({ x }).y.tolist());
  assert.deepEqual(runs, eager);
});

test('random.getState and setState go back to where the generator stood, for captured code as well', () => {
  const f = kn.hybridize(() => random.uniform([2]));
  random.seed(1);
  f();
  const state = random.getState();
  const next = [f().tolist(), f().tolist()];
  random.setState(state);
  assert.deepEqual([f().tolist(), f().tolist()], next);
});

test('random.setState refuses what getState did not give', () => {
  for (const state of [null, {}, { seed: 1, counter: 2 }]) {
    refused(() => random.setState(state as never), { kind: kn.ArgumentError, op: 'random.setState', says: 'not a state' }); // prettier-ignore
  }
});

test('a refused draw leaves the generator where it was', () => {
  for (const act of [
    () => random.normal([-1]),
    () => random.uniform([2], { dtype: 'int8' }),
    () => random.randint(3, 3, [2]),
    () => random.randint([2], { high: 5, dtype: 'float32' }),
    () => random.bernoulli([-2]),
    () => random.categorical(kn.ones([2]), { shape: [-1] }),
  ]) {
    refused(act, { kind: kn.KaonError, says: /./, lacks: ['expected', 'actual'] });
  }
});

test('kn.checkpoint: the pass draws what the call drew, and nothing of its own', () => {
  const run = (wrap: <F extends (x: kn.NDArray) => kn.NDArray>(fn: F) => F): unknown => {
    random.seed(3);
    const x = kn.ones([4]);
    x.attachGrad();
    const f = wrap((v: kn.NDArray) => kn.checkpoint((u: kn.NDArray) => u.mul(random.uniform([4])))(v)); // prettier-ignore
    const seen = [1, 2, 3].map(() => {
      const y = autograd.record(() => f(x));
      y.backward();
      assert.deepEqual(x.grad!.tolist(), y.tolist());
      return y.tolist();
    });
    return [seen, random.getState().counter];
  };
  assert.deepEqual(run((fn) => kn.hybridize(fn)), run((fn) => fn)); // prettier-ignore
});

test('equal seeds give equal numbers: sizes that the first call finds, with dropout before them', () => {
  const run = (active: boolean): readonly unknown[] => {
    random.seed(12);
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(4),
      new kn.nn.Dropout(0.5),
      new kn.nn.Dense(3),
    ).initialize();
    net.hybridize({ active });
    return [
      autograd.trainMode(() => net.call(kn.ones([2, 5]))).tolist(),
      [...net.parameters().values()].map(({ value }) => value.tolist()),
      random.getState().counter,
    ];
  };
  const [captured, eager] = [run(true), run(false)];
  assert.deepEqual(captured.slice(1), eager.slice(1));
  // Products are added up in other kernels; other numbers would be far off.
  near(captured[0], eager[0]);
});
