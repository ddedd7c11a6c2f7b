import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** First values depend on the seed at `initialize()` and on the place of a parameter, and on nothing else. */

const { autograd, nn, random } = kn;

const valuesOf = (net: kn.nn.Block): unknown[] =>
  [...net.parameters().values()].map(({ value }) => value.tolist());

/** A network whose input sizes are told, or found by the first call. */
const dense = (inputs: readonly (number | undefined)[]): kn.nn.Sequential =>
  new nn.Sequential(
    new nn.Dense(4, inputs[0] === undefined ? {} : { inputs: inputs[0] }),
    new nn.Dropout(0.5),
    new nn.Dense(3, inputs[1] === undefined ? {} : { inputs: inputs[1] }),
  );

test('sizes may be known early or late, and other draws may come in between', () => {
  const made = [[5, 4], [undefined, undefined], [5, undefined], [undefined, 4]].map((inputs) =>
    ['eager', 'captured', 'in training', 'after other draws'].map((how) => {
      random.seed(4);
      const net = dense(inputs).initialize();
      net.hybridize({ active: how === 'captured' });
      if (how === 'after other draws') random.normal([3]);
      if (how === 'in training') autograd.trainMode(() => net.call(kn.ones([2, 5])));
      else net.call(kn.ones([2, 5]));
      return valuesOf(net);
    }),
  ); // prettier-ignore
  for (const values of made.flat()) assert.deepEqual(values, made[0][0]);
  const numbers = (made[0][0] as number[][][])[0].flat();
  assert.equal(new Set(numbers).size, numbers.length);
});

test('layers may run first in any order', () => {
  class Two extends nn.HybridBlock {
    a: kn.nn.Dense = new nn.Dense(3);
    b: kn.nn.Dense = new nn.Dense(3);
    readonly #isReversed: boolean;

    constructor(isReversed: boolean) {
      super();
      this.#isReversed = isReversed;
    }

    override forward(x: kn.NDArray): kn.NDArray {
      const [first, second] = this.#isReversed ? [this.b, this.a] : [this.a, this.b];
      return first.call(x).add(second.call(x));
    }
  }
  const [forth, back] = [false, true].map((isReversed) => {
    random.seed(8);
    const net = new Two(isReversed).initialize();
    net.call(kn.ones([1, 2]));
    return valuesOf(net);
  });
  assert.deepEqual(back, forth);
  assert.notDeepEqual(forth[0], forth[2]);
});

test('dropout of a first call draws what that of any other would, eager or captured', () => {
  const run = (active: boolean, isResolved: boolean): unknown => {
    random.seed(5);
    const net = dense([undefined, undefined]).initialize();
    net.hybridize({ active });
    if (isResolved) net.call(kn.ones([1, 5]));
    return autograd.trainMode(() => [1, 2].map(() => net.call(kn.ones([3, 5])).tolist()));
  };
  const expected = run(false, true);
  for (const active of [true, false]) {
    for (const isResolved of [true, false]) assert.deepEqual(run(active, isResolved), expected);
  }
});

test('each random parameter takes one draw when it is initialized, none later, and constants none', () => {
  random.seed(2);
  const net = dense([undefined, undefined]).initialize();
  assert.equal(random.getState().counter, 2n);
  net.call(kn.ones([2, 5]));
  net.initialize();
  assert.equal(random.getState().counter, 2n);
  const before = valuesOf(net);
  net.initialize({ force: true });
  assert.equal(random.getState().counter, 4n);
  assert.notDeepEqual(valuesOf(net), before);
  random.seed(2);
  net.initialize({ force: true });
  assert.deepEqual(valuesOf(net), before);
});

test('initializing again before sizes are known: by force another value, else the same', () => {
  const weights = [{}, { force: true }, null].map((options) => {
    random.seed(6);
    const net = new nn.Dense(2, { useBias: false }).initialize();
    if (options !== null) net.initialize(options);
    net.call(kn.ones([1, 3]));
    return net.weight.value.tolist();
  });
  assert.deepEqual(weights[0], weights[2]);
  assert.notDeepEqual(weights[1], weights[2]);
});

test('an initializer of several draws gets different numbers each time, of its own', () => {
  const init: kn.nn.Initializer = (shape, dtype) =>
    kn.stack([random.normal([2], { dtype }), random.normal([2], { dtype })]).reshape(shape);
  random.seed(1);
  const [p, q] = [1, 2].map(() => new nn.Parameter({ shape: [4], init }));
  p.initialize();
  q.initialize();
  const numbers = [p, q].flatMap(({ value }) => value.tolist() as number[]);
  assert.equal(new Set(numbers).size, 8);
  assert.equal(random.getState().counter, 2n);
});

test('an initializer that fails leaves the generator as it was', () => {
  random.seed(1);
  const failing = new nn.Parameter({ shape: [2], init: () => { throw new RangeError('mine'); } }); // prettier-ignore
  assert.throws(() => failing.initialize(), RangeError);
  const { seed, counter } = random.getState();
  assert.deepEqual([seed, counter], [1n, 0n]);
});

test('normal first values have the mean and the deviation that was asked for', () => {
  random.seed(3);
  const layers = Array.from({ length: 40 }, () =>
    new nn.Dense(50, { inputs: 40, weightInit: nn.initializer.normal(2) }).initialize(),
  );
  const numbers = layers.flatMap(({ weight }) => (weight.value.tolist() as number[][]).flat());
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const variance = numbers.reduce((a, b) => a + (b - mean) ** 2, 0) / numbers.length;
  // 80,000 draws: five standard errors are 2 * 5 / 283 and 4 * 5 * sqrt(2 / 80000).
  assert.ok(Math.abs(mean) < 0.036 && Math.abs(variance - 4) < 0.1, `${mean}, ${variance}`);
});
