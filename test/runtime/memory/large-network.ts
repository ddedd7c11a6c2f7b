/*
 * A process of its own for tests: trains a network of equal dense layers by Adam for some steps, as one captured
 * program, and prints what it has found out as JSON. Arguments: the number of layers, their width, the tier.
 */
import * as kn from '../../../src/index.js';
import type { Tier } from '../../../src/runtime/execution/tiers.js';

const [layers, width] = process.argv.slice(2, 4).map(Number);
const tier = process.argv[4] as Tier;
const steps = 3;

kn.config.tier = tier;
kn.random.seed(1);
const net = new kn.nn.Sequential(
  ...Array.from(
    { length: layers },
    () => new kn.nn.Dense(width, { inputs: width, useBias: false, activation: 'tanh' }),
  ),
);
net.initialize();
const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 1e-5 });
const x = kn.linspace(-1, 1, 4 * width).reshape([4, width]);
const target = x.mul(0.5);
const step = kn.hybridize((x: kn.NDArray, target: kn.NDArray) => {
  const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(x), target));
  loss.backward();
  optimizer.step();
  return loss;
});

const losses: number[] = [];
const times: number[] = [];
for (let i = 0; i < steps; i++) {
  const start = performance.now();
  losses.push(Number(step(x, target).item()));
  times.push(performance.now() - start);
}
const [{ tiers }] = step.explain().traces;
// Linux counts kibibytes.
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ losses, times, peak, tiers })); // oxlint-disable-line no-console -- the answer
