import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/** What optimizers, schedules and clipping refuse. */

const { SGD, Adam, AdamW, RMSProp, Adagrad, Lion } = kn.optim;

function parameters(): ReadonlyMap<string, kn.nn.Parameter> {
  const weight = new kn.nn.Parameter({ shape: [1] });
  weight.assign([1]);
  return new Map([['w', weight]]);
}

interface Refusal {
  readonly op: string;
  readonly expected?: RegExp;
  readonly actual?: string;
  readonly advice?: RegExp;
}

function refused(act: () => unknown, { op, expected, actual, advice }: Refusal): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof kn.ArgumentError, String(error));
    assert.equal(error.op, op);
    if (expected !== undefined) assert.match(error.expected ?? '', expected);
    if (actual !== undefined) assert.equal(error.actual, actual);
    if (advice !== undefined) assert.match(error.advice ?? '', advice);
    return true;
  });
}

type Make = new (parameters: ReadonlyMap<string, kn.nn.Parameter>, options: never) => unknown;

const kinds: readonly (readonly [Make, readonly string[]])[] = [
  [SGD, ['momentum']],
  [Adam, ['beta1', 'beta2', 'epsilon']],
  [AdamW, ['beta1', 'beta2', 'epsilon']],
  [RMSProp, ['decay', 'epsilon']],
  [Adagrad, ['epsilon']],
  [Lion, ['beta1', 'beta2']],
];

for (const [Kind, numbers] of kinds) {
  test(`${Kind.name} refuses options that there are not, and values that are none`, () => {
    const make = (options: unknown) => () => new Kind(parameters(), options as never);
    const op = Kind.name;
    refused(make({ learningRate: 1, weight_decay: 0.1 }), { op, actual: 'weight_decay', advice: /weightDecay/ }); // prettier-ignore
    refused(make({ learning_rate: 1 }), { op, advice: /learningRate/ });
    refused(make({}), { op, expected: /finite number of at least 0/, actual: 'undefined' });
    for (const options of [null, undefined, 0.1, [0.1], 'fast']) refused(make(options), { op });
    for (const name of ['learningRate', 'weightDecay', ...numbers]) {
      for (const value of [-0.1, NaN, Infinity, '0.1', null, 1n, kn.array(1)]) {
        refused(make({ learningRate: 1, [name]: value }), { op });
      }
    }
    for (const name of numbers.filter((each) => /beta|decay|momentum/.test(each))) {
      refused(make({ learningRate: 1, [name]: 2 }), { op, actual: '2' });
    }
    for (const none of [null, [], new Map([['w', 1]]), {}, new kn.nn.Dense(1)]) {
      refused(() => new Kind(none as never, { learningRate: 1 } as never), { op, advice: /parameters\(\)/ }); // prettier-ignore
    }
  });
}

test('Nesterov looks ahead by a momentum that is there', () => {
  refused(() => new SGD(parameters(), { learningRate: 1, nesterov: true }), { op: 'SGD', actual: 'momentum 0' }); // prettier-ignore
  refused(() => new SGD(parameters(), { learningRate: 1, nesterov: 1 } as never), { op: 'SGD' });
});

test('a learning rate is a number of at least 0, whenever it is set and whatever a schedule gives', () => {
  const all = parameters();
  const [weight] = all.values();
  let rate: unknown = 1;
  const optimizer = new SGD(all, { learningRate: 0.5 });
  for (const none of [NaN, -1, Infinity, '1', null, undefined]) {
    refused(() => (optimizer.learningRate = none as never), { op: 'SGD', expected: /at least 0/ });
  }
  assert.equal(optimizer.learningRate, 0.5);
  optimizer.learningRate = () => rate as number;
  const pass = (): void => kn.autograd.record(() => weight.value.sum()).backward();
  const whole = kn.hybridize(() => {
    pass();
    optimizer.step();
  });
  whole();
  assert.equal(weight.value.item(), 0);
  for (const none of [NaN, -1, '1', undefined]) {
    rate = none;
    pass();
    refused(() => optimizer.step(), { op: 'SGD.step', expected: /at least 0/ });
    refused(whole, { op: 'SGD.step' });
    assert.deepEqual([weight.value.item(), optimizer.steps], [0, 1]);
  }
  rate = 1;
  pass();
  optimizer.step();
  assert.deepEqual([weight.value.item(), optimizer.steps], [-1, 2]);
});

test('schedules and clipping refuse what has no meaning', () => {
  const { stepDecay, cosine, warmup } = kn.optim.schedule;
  const op = 'stepDecay';
  refused(() => stepDecay(-1, { every: 1, factor: 1 }), { op });
  refused(() => stepDecay(1, { every: 0, factor: 1 }), { op, actual: '0' });
  refused(() => stepDecay(1, { every: 1.5, factor: 1 }), { op });
  refused(() => stepDecay(1, { every: 1 } as never), { op, actual: 'undefined' });
  refused(() => stepDecay(1, { every: 1, gamma: 1 } as never), { op });
  refused(() => stepDecay(1, { every: 1, Factor: 1 } as never), { op, advice: /factor/ });
  refused(() => stepDecay(1, null as never), { op });
  refused(() => cosine(NaN, { steps: 2 }), { op: 'cosine' });
  refused(() => cosine(1, { steps: 2, end: -1 }), { op: 'cosine' });
  refused(() => cosine(1, {} as never), { op: 'cosine' });
  refused(() => warmup(0, 1), { op: 'warmup' });
  refused(() => warmup(1, NaN), { op: 'warmup' });
  refused(() => warmup(1, 'fast' as never), { op: 'warmup' });
  const all = parameters();
  for (const none of [0, -1, NaN, '1', null, undefined]) {
    refused(() => kn.optim.clipGlobalNorm(all, none as never), { op: 'clipGlobalNorm' });
  }
  refused(() => kn.optim.clipGlobalNorm([...all.values()] as never, 1), { op: 'clipGlobalNorm' });
});

test('an optimizer of the user may have options and state of its own', () => {
  class Signed extends kn.optim.Optimizer {
    protected readonly slotNames = ['count'];
    readonly scale: number;

    constructor(all: ReadonlyMap<string, kn.nn.Parameter>, options: { learningRate: number; scale: number }) {
      super(all, options);
      this.scale = options.scale;
    } // prettier-ignore

    protected override hyperparameters(updates: kn.NDArray): readonly kn.NDArray[] {
      return [updates.mul(10)];
    }

    protected override update({ weight, grad, slots, hyper: [rate, tens] }: kn.optim.UpdateContext) {
      return [weight.sub(grad.sign().mul(rate).mul(this.scale)), slots[0].add(tens)];
    } // prettier-ignore
  }
  const all = parameters();
  const [weight] = all.values();
  const optimizer = new Signed(all, { learningRate: 0.5, scale: 2 });
  for (let i = 0; i < 2; i++) {
    kn.autograd.record(() => weight.value.mul(3).sum()).backward();
    optimizer.step();
  }
  assert.deepEqual(weight.value.tolist(), [-1]);
  assert.deepEqual(optimizer.state().arrays.get('w/count')!.tolist(), [30]);
});

test('loadState refuses what is missing or of another type, and changes nothing', () => {
  const all = parameters();
  const optimizer = new Adam(all, { learningRate: 1 });
  const { arrays, steps } = optimizer.state();
  const load =
    (changed: ReadonlyMap<string, kn.NDArray>, count: unknown = steps) =>
    () =>
      optimizer.loadState({ arrays: changed, steps: count as number });
  const mean = kn.ones([1]);
  const cases = [
    load(new Map([['w/mean', mean]])),
    load(new Map([['w/mean', mean], ['w/variance', kn.ones([2])]])),
    load(new Map<string, kn.NDArray>([['w/mean', mean], ['w/variance', kn.ones([1], { dtype: 'float16' })]])),
    load(new Map([...arrays, ['w/mean', mean]]), -1),
    load(new Map([...arrays, ['w/mean', mean]]), 'two'),
  ]; // prettier-ignore
  for (const each of cases) {
    assert.throws(each, kn.FormatError);
    assert.deepEqual([arrays.get('w/mean')!.tolist(), optimizer.steps], [[0], 0]);
  }
  load(new Map([...arrays, ['w/mean', mean]]), 3)();
  assert.deepEqual([arrays.get('w/mean')!.tolist(), optimizer.steps], [[1], 3]);
});
