import { input } from '../harness/data.mjs';
import { batch, forward, mlpLoss, rate, sizes } from '../reference/mlp.mjs';
import { losses } from '../reference/networks.mjs';

const section = 'Networks';
/** Losses of this many steps are compared before timing. */
const checked = 3;

/** Weights are (inputs, units). */
function parameters() {
  const units = sizes.slice(1);
  return {
    ...Object.fromEntries(
      units.map((n, i) => [`w${i}`, input([sizes[i], n], i + 1, 1 / Math.sqrt(sizes[i]))]),
    ),
    ...Object.fromEntries(units.map((n, i) => [`b${i}`, input([n], i + 9, 0.1)])),
  };
}

const dataOf = (inputs) =>
  Object.fromEntries(Object.entries(inputs).map(([name, { data }]) => [name, data]));

/** Operations of the products, forward: the rest is little. */
const products = (count) =>
  2 * count * sizes.slice(1).reduce((sum, units, i) => sum + units * sizes[i], 0);

const trainStep = {
  section,
  title: `MLP ${sizes.join('-')}, batch ${batch}, train step`,
  kind: 'mlpStep',
  unit: 'ms',
  // Backward there are two products for each, but none for the gradient of the input.
  operations: 3 * products(batch) - 2 * batch * sizes[0] * sizes[1],
  rate,
  checked,
  targets: [
    { who: 'kaon wasm whole step', than: 'TF.js', times: 5 },
    { who: 'kaon wasm whole step', than: 'jax-js', times: 2 },
    { who: 'kaon native whole step', than: 'PyTorch compiled', times: 1.5 },
    { who: 'kaon webgpu', than: 'TF.js', times: 3 },
    { who: 'kaon webgpu', than: 'jax-js', times: 3 },
  ],
  build() {
    const labels = Int32Array.from({ length: batch }, (_, i) => (i * 7) % 10);
    const hot = Float32Array.from({ length: batch * 10 }, (_, i) =>
      i % 10 === labels[Math.floor(i / 10)] ? 1 : 0,
    );
    const [start, x] = [parameters(), input([batch, sizes[0]], 42)];
    const inputs = {
      ...start,
      x,
      labels: { shape: [batch], data: labels },
      hot: { shape: [batch, 10], data: hot },
    };
    const lossOf = (state) => mlpLoss(state, x.data, labels);
    return { inputs, reference: losses(lossOf, dataOf(start), rate, checked), tolerance: 2e-5 };
  },
};

const forwardRow = (count) => ({
  section,
  title: `MLP ${sizes.join('-')}, batch ${count}, forward`,
  kind: 'mlpForward',
  unit: count === 1 ? 'us' : 'ms',
  operations: products(count),
  bytes: products(1) * 2, // the weights are read once
  build() {
    const [own, x] = [parameters(), input([count, sizes[0]], 42)];
    return { inputs: { ...own, x }, reference: forward(dataOf(own), x.data) };
  },
});

export const rows = [trainStep, forwardRow(batch), forwardRow(1)];
