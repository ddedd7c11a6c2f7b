import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** Gradients that are attached or dropped between calls of captured code, by the code or around it. */

const { autograd } = kn;

type Step = (x: kn.NDArray, w: kn.NDArray) => unknown;

/** Code, and what happens before some of its calls. */
interface Scenario {
  readonly name: string;
  readonly code: Step;
  /** By the number of the call, counted from 0. */
  readonly before: Readonly<Record<number, (x: kn.NDArray, w: kn.NDArray) => void>>;
}

const attachedIfNone: Step = (x) => {
  if (x.grad === null) x.attachGrad();
  else autograd.record(() => x.sum()).backward();
};

const scenarios: readonly Scenario[] = [
  {
    name: 'an argument gets a gradient',
    code: (x, w) => {
      const loss = autograd.record(() => x.mul(w).sum());
      loss.backward();
    },
    before: {
      0: (_, w) => w.attachGrad(),
      3: (x) => x.attachGrad(),
      6: (x) => x.attachGrad({ req: 'add' }),
      10: (x) => x.attachGrad({ req: 'null' }),
      13: (x) => x.attachGrad(),
    },
  },
  { name: 'code attaches to its argument, once', code: attachedIfNone, before: {} },
  {
    name: 'code attaches where nothing is attached, and is asked again',
    code: attachedIfNone,
    before: { 4: (x) => x.attachGrad({ req: 'null' }), 5: (x) => x.attachGrad({ req: 'add' }) },
  },
  {
    name: 'code drops what was attached',
    code: (x) => {
      const y = autograd.record(() => x.sum());
      if (x.grad === null) return 'none';
      y.backward();
      const grad = x.grad.add(0);
      x.attachGrad({ req: 'null' });
      return grad;
    },
    before: { 3: (x) => x.attachGrad(), 5: (x) => x.attachGrad() },
  },
  {
    name: 'code resets the gradient on each call',
    code: (x) => {
      x.attachGrad({ req: 'add' });
      autograd.record(() => x.mul(3).sum()).backward();
      return x.grad!.add(0);
    },
    before: { 3: (x) => x.attachGrad({ req: 'write' }) },
  },
  {
    name: 'code branches on a gradient',
    code: (x) => (x.grad === null ? x.mul(2) : x.add(x.grad)),
    before: { 3: (x) => x.attachGrad(), 6: (x) => x.attachGrad({ req: 'null' }) },
  },
];

/** Each call with arrays of its own, or all with the same: by `fresh`. */
function run({ code, before }: Scenario, isCaptured: boolean, isOuter: boolean, fresh: boolean): unknown[] {
  let [x, w] = [kn.array([1, 2]), kn.array([3, 4])];
  // Arrays from outside have no part in the arguments of a call.
  const outer = (): unknown => code(x, w);
  const options = { verify: isOuter && !fresh ? 'off' : 'backoff' } as const;
  const [captured, capturedOuter] = [kn.hybridize(code, options), kn.hybridize(outer, options)];
  return Array.from({ length: 16 }, (_, i) => {
    if (fresh) {
      const next = kn.array([1 + i, 2]);
      if (i % 3 === 2) next.attachGrad();
      [x, w] = [next, kn.array([3, 4 + i])];
      w.attachGrad();
    }
    before[i]?.(x, w);
    const result = isCaptured
      ? isOuter
        ? capturedOuter()
        : captured(x, w)
      : code(x, w);
    const shown = result instanceof kn.NDArray ? result.tolist() : result;
    return [shown, x.grad?.tolist(), w.grad?.tolist()];
  });
} // prettier-ignore

for (const scenario of scenarios) {
  for (const fresh of [false, true]) {
    const which = fresh ? 'other arrays each time' : 'the same arrays';
    test(`${scenario.name}, ${which}: as eagerly`, () => {
      assert.deepEqual(run(scenario, true, false, fresh), run(scenario, false, false, fresh));
    });
  }
  test(`${scenario.name}, arrays from outside: as eagerly`, () => {
    assert.deepEqual(run(scenario, true, true, false), run(scenario, false, true, false));
  });
}

test('an array from outside that only its gradient makes part of the graph', () => {
  const [v, w] = [kn.array([3, 4]), kn.array([3, 4])];
  w.attachGrad();
  const f = kn.hybridize((x: kn.NDArray) => {
    autograd.record(() => x.mul(w).sum().add(v.sum())).backward();
    return x;
  });
  const x = kn.array([1, 2]);
  for (let i = 0; i < 3; i++) f(x);
  v.attachGrad();
  f(x);
  assert.deepEqual(v.grad!.tolist(), [1, 1]);
  v.attachGrad({ req: 'null' });
  f(x);
  assert.equal(v.grad, null);
  v.attachGrad({ req: 'add' });
  f(x);
  f(x);
  assert.deepEqual(v.grad!.tolist(), [2, 2]);
});

test('a parameter that is frozen and thawed between steps', () => {
  const train = (isCaptured: boolean): unknown[] => {
    const layer = new kn.nn.Dense(1, { inputs: 2, weightInit: kn.nn.initializer.constant(1) });
    layer.initialize();
    const weight = layer.weight.value;
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = autograd.record(() => layer.call(x).sum());
      loss.backward();
      return loss;
    };
    const run = isCaptured ? kn.hybridize(step) : step;
    return Array.from({ length: 9 }, (_, i) => {
      if (i === 3) weight.attachGrad({ req: 'null' });
      if (i === 6) weight.attachGrad();
      run(kn.full([1, 2], i));
      return weight.grad?.tolist();
    });
  };
  assert.deepEqual(train(true), train(false));
});

test('the shortcut for calls like the one before looks at training and recording', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(autograd.isTraining() ? 2 : 3));
  const x = kn.array([1]);
  x.attachGrad();
  for (let i = 0; i < 12; i++) {
    const isTraining = i % 4 === 3;
    const y = isTraining ? autograd.trainMode(() => f(x)) : f(x);
    assert.equal(y.item(), isTraining ? 2 : 3);
    const z = autograd.record(() => f(x), { trainMode: isTraining });
    z.backward();
    assert.equal(x.grad!.item(), isTraining ? 2 : 3);
  }
});
