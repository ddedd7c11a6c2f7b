import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

/** Minimizes sum(a w^2 / 2 - b w): the gradient is a w - b. */
const a = [1, 3, 0.5];
const b = [1, -2, 0.25];
const start = [0.5, -1, 2];
const steps = 6;

/** Runs an optimizer of the library and returns the weights after every step. */
function run(
  make: (parameters: ReadonlyMap<string, kn.nn.Parameter>) => kn.optim.Optimizer,
): number[][] {
  const weight = new kn.nn.Parameter({ shape: [3] });
  weight.assign(start);
  const optimizer = make(new Map([['w', weight]]));
  return Array.from({ length: steps }, () => {
    const loss = kn.autograd.record(() =>
      weight.value.square().mul(a).mul(0.5).sub(weight.value.mul(b)).sum(),
    );
    loss.backward();
    optimizer.step();
    return weight.value.tolist() as number[];
  });
}

/** The same in plain numbers, one scalar update rule for each weight. */
function plain(rule: () => (w: number, g: number, t: number) => number): number[][] {
  const rules = start.map(() => rule());
  let w = start;
  return Array.from(
    { length: steps },
    (_, t) => (w = w.map((value, i) => rules[i](value, a[i] * value - b[i], t + 1))),
  );
}

const cases: Record<string, [ReturnType<typeof run>, ReturnType<typeof plain>]> = {
  'SGD': [
    run((p) => new kn.optim.SGD(p, { learningRate: 0.1 })),
    plain(() => (w, g) => w - 0.1 * g),
  ],
  'SGD with momentum and weight decay': [
    run((p) => new kn.optim.SGD(p, { learningRate: 0.1, momentum: 0.9, weightDecay: 0.01 })),
    plain(() => {
      let v = 0;
      return (w, g) => w - 0.1 * (v = 0.9 * v + g + 0.01 * w);
    }),
  ],
  'SGD with Nesterov momentum': [
    run((p) => new kn.optim.SGD(p, { learningRate: 0.1, momentum: 0.9, nesterov: true })),
    plain(() => {
      let v = 0;
      return (w, g) => {
        v = 0.9 * v + g;
        return w - 0.1 * (g + 0.9 * v);
      };
    }),
  ],
  'Adam': [
    run((p) => new kn.optim.Adam(p, { learningRate: 0.1 })),
    plain(() => {
      let [m, v] = [0, 0];
      return (w, g, t) => {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        return w - (0.1 * (m / (1 - 0.9 ** t))) / (Math.sqrt(v / (1 - 0.999 ** t)) + 1e-8);
      };
    }),
  ],
  'AdamW': [
    run((p) => new kn.optim.AdamW(p, { learningRate: 0.1, weightDecay: 0.05 })),
    plain(() => {
      let [m, v] = [0, 0];
      return (w, g, t) => {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        return w * (1 - 0.1 * 0.05) - (0.1 * (m / (1 - 0.9 ** t))) / (Math.sqrt(v / (1 - 0.999 ** t)) + 1e-8);
      };
    }),
  ],
  'RMSProp': [
    run((p) => new kn.optim.RMSProp(p, { learningRate: 0.1 })),
    plain(() => {
      let v = 0;
      return (w, g) => {
        v = 0.99 * v + 0.01 * g * g;
        return w - (0.1 * g) / (Math.sqrt(v) + 1e-8);
      };
    }),
  ],
  'Adagrad': [
    run((p) => new kn.optim.Adagrad(p, { learningRate: 0.1 })),
    plain(() => {
      let v = 0;
      return (w, g) => w - (0.1 * g) / (Math.sqrt((v += g * g)) + 1e-10);
    }),
  ],
  'Lion': [
    run((p) => new kn.optim.Lion(p, { learningRate: 0.1, weightDecay: 0.01 })),
    plain(() => {
      let m = 0;
      return (w, g) => {
        const step = Math.sign(0.9 * m + 0.1 * g);
        m = 0.99 * m + 0.01 * g;
        return w - 0.1 * (step + 0.01 * w);
      };
    }),
  ],
}; // prettier-ignore

for (const [name, [actual, expected]] of Object.entries(cases)) {
  test(`${name} follows its published rule`, () => {
    actual.forEach((weights, t) => assertClose(weights, expected[t], 2e-5, `step ${t + 1}`));
  });
}

test('a learning rate may be a schedule, and may be set at any time', () => {
  const weight = new kn.nn.Parameter({ shape: [1] });
  weight.assign([0]);
  const optimizer = new kn.optim.SGD(new Map([['w', weight]]), {
    learningRate: kn.optim.schedule.stepDecay(1, { every: 2, factor: 0.5 }),
  });
  const moves: number[] = [];
  const step = (): void => {
    const before = Number(weight.value.item());
    kn.autograd.record(() => weight.value.sum()).backward();
    optimizer.step();
    moves.push(before - Number(weight.value.item()));
  };
  for (let i = 0; i < 4; i++) step();
  optimizer.learningRate = 4;
  step();
  assert.deepEqual(moves, [1, 1, 0.5, 0.5, 4]);
});

test('schedules follow their formulas', () => {
  const { cosine, warmup } = kn.optim.schedule;
  const wave = cosine(1, { steps: 10, end: 0.1 });
  assertClose([wave(0), wave(5), wave(10), wave(99)], [1, 0.55, 0.1, 0.1], 1e-12);
  const rising = warmup(4, 2);
  assert.deepEqual([0, 1, 2, 3, 4, 50].map(rising), [0.5, 1, 1.5, 2, 2, 2]);
  assert.throws(() => cosine(1, { steps: 0 }), kn.ArgumentError);
});

test('clipGlobalNorm scales all gradients by one factor and returns the norm before', () => {
  const parameters = new Map(['p', 'q'].map((name) => [name, new kn.nn.Parameter({ shape: [2] })]));
  for (const parameter of parameters.values()) parameter.assign([1, 1]);
  const [p, q] = [...parameters.values()];
  kn.autograd
    .record(() =>
      p.value
        .mul([3, 0])
        .sum()
        .add(q.value.mul([0, 4]).sum()),
    )
    .backward();
  assertClose([Number(kn.optim.clipGlobalNorm(parameters, 1).item())], [5]);
  assertClose([...p.grad!.dataSync(), ...q.grad!.dataSync()], [0.6, 0, 0, 0.8], 1e-4);
  kn.optim.clipGlobalNorm(parameters, 100);
  assertClose([...p.grad!.dataSync(), ...q.grad!.dataSync()], [0.6, 0, 0, 0.8], 1e-4);
});

test('a step without gradients is an error that changes nothing', () => {
  const weight = new kn.nn.Parameter({ shape: [1] });
  const optimizer = new kn.optim.SGD(new Map([['w', weight]]), { learningRate: 1 });
  assert.throws(
    () => optimizer.step(),
    (error) =>
      error instanceof kn.ArgumentError && /parameter w has no gradient/.test(error.message),
  );
  assert.equal(optimizer.steps, 0);
});

test('an optimizer without trainable parameters is refused', () => {
  const state = new kn.nn.Parameter({ shape: [1], gradReq: 'null' });
  assert.throws(
    () => new kn.optim.Adam(new Map([['s', state]]), { learningRate: 1 }),
    kn.ArgumentError,
  );
});
