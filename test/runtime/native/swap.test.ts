import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import type { NDArray, TierReport } from '../../../src/index.js';
import { canCompile, reached, withTier } from './support.js';

const longest = 120_000;

/** Runs something again and again, without the event loop, until code is native or has been given up. */
function untilSettled(run: () => void, tiers: () => readonly TierReport[]): number {
  const end = performance.now() + longest;
  let runs = 0;
  const isOpen = ({ tier, reason }: TierReport): boolean =>
    tier === 'wasm' && /has run for|has not run|being made/.test(reason ?? '');
  do {
    run();
    runs++;
  } while (tiers().some(isOpen) && performance.now() < end);
  return runs;
}

const tiersOf = (f: { explain(): kn.Explanation }): readonly TierReport[] =>
  f.explain().traces.flatMap(({ tiers }) => tiers);

interface Model {
  readonly step: ((x: NDArray, y: NDArray) => NDArray) & { explain(): kn.Explanation };
  readonly state: () => number[];
}

/** A network with dropout, running statistics and momentum: state of every kind, updated in one step. */
function model(tier: 'auto' | 'wasm'): Model {
  kn.random.seed(7);
  const net = new kn.nn.Sequential(
    new kn.nn.Dense(24, { activation: 'tanh' }),
    new kn.nn.BatchNorm(),
    new kn.nn.Dropout(0.2),
    new kn.nn.Dense(3),
  );
  net.initialize();
  net.call(kn.zeros([2, 10]));
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.05, momentum: 0.9 });
  const step = kn.hybridize(
    (x: NDArray, y: NDArray) => {
      const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(x), y).mean());
      loss.backward();
      optimizer.step();
      return loss;
    },
    { tier },
  );
  const state = (): number[] =>
    [...net.parameters().values()].flatMap(({ value }) => [...(value.dataSync() as Float32Array)]);
  return { step, state };
}

test(`a training step goes over to ${reached} in the middle, and updates its state once a step`, () => {
  withTier({ hotMilliseconds: 1, atAnySpeed: true }, () => {
    const [x, y] = [kn.random.normal([32, 10]), kn.random.normal([32, 3])];
    const losses: { wasm: number[]; auto: number[] } = { wasm: [], auto: [] };
    const auto = model('auto');
    const drawn: string[] = [];
    const runs = untilSettled(
      () => losses.auto.push(Number(auto.step(x, y).item())),
      () => tiersOf(auto.step),
    );
    for (let i = 0; i < 5; i++) losses.auto.push(Number(auto.step(x, y).item()));
    drawn.push(String(kn.random.uniform([4])));
    assert.deepEqual(
      tiersOf(auto.step).map(({ tier }) => tier),
      [reached],
      String(auto.step.explain()),
    );

    const wasm = model('wasm');
    for (let i = 0; i < runs + 5; i++) losses.wasm.push(Number(wasm.step(x, y).item()));
    drawn.push(String(kn.random.uniform([4])));
    assert.equal(drawn[0], drawn[1], 'as much was drawn');
    losses.auto.forEach((loss, i) => {
      assert.ok(
        Math.abs(loss - losses.wasm[i]) <= 1e-3 * Math.abs(losses.wasm[i]) + 1e-6,
        `step ${i}`,
      );
    });
    const wanted = wasm.state();
    auto.state().forEach((value, i) => {
      assert.ok(
        Math.abs(value - wanted[i]) <= 2e-3 * Math.max(1, Math.abs(wanted[i])),
        `value ${i}`,
      );
    });
  });
});

test(`forward and backward that are recorded go over to ${reached}, each by itself`, () => {
  withTier({ hotMilliseconds: 1, atAnySpeed: true }, () => {
    const w = kn.random.normal([40, 40]);
    w.attachGrad();
    const f = kn.hybridize((x: NDArray) => x.matmul(w).tanh().sum(), { tier: 'auto' });
    const x = kn.random.normal([16, 40]);
    const grads: number[][] = [];
    untilSettled(
      () => {
        kn.autograd.record(() => f(x)).backward();
        grads.push([...(w.grad!.dataSync() as Float32Array)]);
      },
      () => tiersOf(f),
    );
    const reports = tiersOf(f);
    assert.deepEqual(
      reports.map(({ part, tier }) => [part, tier]),
      [['forward', reached], ['backward', reached]],
    ); // prettier-ignore
    const [first] = grads;
    const scale = Math.max(...first.map(Math.abs));
    for (const grad of grads) {
      grad.forEach((value, i) => assert.ok(Math.abs(value - first[i]) <= 1e-4 * scale));
    }
    assert.match(
      String(f.explain()),
      canCompile ? /backward: native, since run \d+/ : /: wasm, no/,
    );
  });
});

test('what a program says of its tier: how far it is, and that it was asked to stay', () => {
  withTier({ hotMilliseconds: 1e9 }, () => {
    const f = kn.hybridize((x: NDArray) => x.mul(2), { tier: 'auto' });
    assert.deepEqual(tiersOf(f), []);
    f(kn.ones([3]));
    const [report] = tiersOf(f);
    assert.match(report.reason!, /^it has run for \d+ ms of 1000000000$/);
    assert.equal(report.tier, 'wasm');
    const g = kn.hybridize((x: NDArray) => x.mul(2), { tier: 'wasm' });
    g(kn.ones([3]));
    assert.equal(tiersOf(g)[0].reason, 'asked for');
    assert.match(String(g.explain()), /tier\n[^]* wasm\n[^]*trace 0: wasm, asked for$/);
  });
});

test(`config.tier is what programs get that name none: ${reached} where it says native`, () => {
  withTier({}, () => {
    const before = kn.config.tier;
    try {
      kn.config.tier = 'native';
      const f = kn.hybridize((x: NDArray) => x.matmul(x));
      assert.deepEqual(f(kn.eye(3)).tolist(), kn.eye(3).tolist());
      assert.equal(tiersOf(f)[0].tier, reached);
      kn.config.tier = 'wasm';
      const g = kn.hybridize((x: NDArray) => x.matmul(x));
      g(kn.eye(3));
      assert.equal(tiersOf(g)[0].reason, 'asked for');
    } finally {
      kn.config.tier = before;
    }
    assert.throws(() => Object.assign(kn.config, { tier: 'gpu' }), kn.ArgumentError);
    assert.ok(Object.keys(kn.config).includes('tier'));
  });
});
