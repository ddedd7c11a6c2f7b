import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import {
  type Footprint,
  footprint,
  growth,
  inChild,
  interpreted,
  isLong,
  servedCase,
  startCounting,
} from './child.js';

/**
 * Captured training in one loop without a single pause, so that no finalizer runs before it is over:
 * whatever a step takes beyond its results must be given back by the step itself.
 */
const steps = isLong ? 12_000 : 1_200;
/** By then everything that is done once has been done: tracing and compiling. */
const settledAfter = steps / 5;
/**
 * How often memory is measured from then on, but for once. Small results are cut from pieces of 32 KB, and by the step's
 * place in them the network's values lie in one piece or in two: the least of six measurements has one.
 */
const intervals = 12;

const rows = 256;
const batchSize = 32;

class Net extends kn.nn.HybridBlock {
  first: kn.nn.Dense = new kn.nn.Dense(32, { activation: 'tanh' });
  norm: kn.nn.BatchNorm = new kn.nn.BatchNorm();
  drop: kn.nn.Dropout = new kn.nn.Dropout(0.2);
  last: kn.nn.Dense = new kn.nn.Dense(3);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(this.drop.call(this.norm.call(this.first.call(x))));
  }
}

interface Training {
  readonly net: Net;
  readonly optimizer: kn.optim.Optimizer;
}

interface Report {
  /** At equal distances, from the first step that counts to the last. */
  readonly footprints: readonly Footprint[];
  readonly first: number;
  readonly last: number;
}

/** Trains on shuffled batches; `makeStep` says how. */
function train(
  makeStep: (training: Training) => (x: kn.NDArray, y: kn.NDArray) => kn.NDArray,
): Report {
  startCounting();
  kn.random.seed(1);
  const x = kn.random.normal([rows, 8]);
  const y = x.matmul(kn.random.normal([8, 3])).argmax(1);
  const net = new Net().initialize();
  net.call(x);
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.003 });
  const step = makeStep({ net, optimizer });
  const losses: number[] = [];
  let order = kn.random.permutation(rows);
  const runSteps = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      const at = (i * batchSize) % rows;
      if (at === 0) order = kn.random.permutation(rows);
      const picked = order.slice([at, at + batchSize]);
      const loss = step(x.take(picked, { axis: 0 }), y.take(picked, { axis: 0 }));
      if (i < 20 || i >= steps - 20) losses.push(Number(loss.item()));
    }
  };
  // Measured outside of the loop: the frame of a loop may keep alive what a step left in its registers.
  runSteps(0, settledAfter);
  const footprints = [footprint()];
  const stride = (steps - settledAfter) / intervals;
  for (let at = settledAfter; at < steps; at += stride) {
    runSteps(at, at + stride);
    footprints.push(footprint());
  }
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b) / 20;
  return { footprints, first: mean(losses.slice(0, 20)), last: mean(losses.slice(20)) };
}

const lossOf = ({ net }: Training, x: kn.NDArray, y: kn.NDArray): kn.NDArray =>
  kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), y));

const cases = {
  'whole steps': () =>
    train((training) =>
      kn.hybridize((x: kn.NDArray, y: kn.NDArray) => {
        const loss = lossOf(training, x, y);
        loss.backward();
        training.optimizer.step();
        return loss;
      }),
    ),
  'whole steps whose gradients are read and reset': () =>
    train((training) => {
      const step = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => {
        const loss = lossOf(training, x, y);
        loss.backward();
        training.optimizer.step();
        return loss;
      });
      return (x, y) => {
        const loss = step(x, y);
        for (const { grad } of training.net.parameters().values()) grad?.dataSync();
        training.optimizer.zeroGrad();
        return loss;
      };
    }),
  'a hybridized network, its backward passes and an optimizer beside it': () =>
    train((training) => {
      training.net.hybridize();
      return (x, y) => {
        const loss = lossOf(training, x, y);
        loss.backward();
        training.optimizer.step();
        return loss;
      };
    }),
};

if (!(await servedCase(cases))) {
  for (const name of Object.keys(cases)) {
    test(`${steps} steps at constant memory: ${name}`, () => {
      const { footprints, first, last } = inChild<Report>(import.meta.url, name, interpreted);
      assert.ok(last < first / 2, `the loss went from ${first} to ${last}`);
      for (const field of ['device', 'deviceSize', 'modules'] as const) {
        assert.equal(new Set(footprints.map((taken) => taken[field])).size, 1, field);
      }
      const heap = growth(footprints, 'heap');
      assert.ok(heap < 2 ** 16, `${heap} bytes of heap`);
      const buffers = growth(footprints, 'buffers');
      assert.ok(buffers < 2 ** 14, `${buffers} bytes of buffers`);
    });
  }
}
