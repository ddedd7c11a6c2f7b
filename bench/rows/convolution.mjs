import { input } from '../harness/data.mjs';
import { convolve, residualBlock } from '../reference/convolution.mjs';

const section = 'Convolutions';
const side = 56;
const targets = [
  { who: 'kaon wasm', than: 'TF.js', times: 1.5 },
  { who: 'kaon native', than: 'onnxruntime', times: 1 },
];

const operationsOf = (channels, batch) => 2 * batch * channels * channels * 9 * side * side;
const weight = (channels, seed) =>
  input([channels, channels, 3, 3], seed, 1 / Math.sqrt(9 * channels));

const convolution = (channels, batch) => ({
  section,
  title: `convolution 3x3, ${channels} to ${channels} channels, ${side}x${side}, batch ${batch}`,
  kind: 'convolution',
  unit: 'ms',
  operations: operationsOf(channels, batch),
  targets,
  build() {
    const [x, w] = [input([batch, channels, side, side], 1), weight(channels, 2)];
    const sizes = { batch, inputs: channels, outputs: channels, side };
    return { inputs: { x, w }, reference: convolve(x.data, w.data, sizes) };
  },
});

/** Positive numbers around 1, as variances and scales are. */
const aroundOne = (channels, seed) => {
  const { shape, data } = input([channels], seed, 0.1);
  return { shape, data: data.map((value) => 1 + value) };
};

const block = (channels, batch) => ({
  section,
  title: `residual block, ${channels} channels, ${side}x${side}, batch ${batch}`,
  kind: 'residualBlock',
  unit: 'ms',
  operations: 2 * operationsOf(channels, batch),
  targets,
  build() {
    const x = input([batch, channels, side, side], 1);
    const weights = [weight(channels, 2), weight(channels, 3)];
    const norms = [10, 20].map((seed) => ({
      mean: input([channels], seed, 0.1),
      variance: aroundOne(channels, seed + 1),
      gamma: aroundOne(channels, seed + 2),
      beta: input([channels], seed + 3, 0.1),
    }));
    const inputs = { x };
    weights.forEach((w, i) => (inputs[`w${i}`] = w));
    for (const [i, norm] of norms.entries()) {
      for (const [name, value] of Object.entries(norm)) inputs[`${name}${i}`] = value;
    }
    const numbers = norms.map((norm) =>
      Object.fromEntries(Object.entries(norm).map(([name, { data }]) => [name, data])),
    );
    const sizes = { batch, inputs: channels, outputs: channels, side };
    const kernels = weights.map(({ data }) => data);
    const reference = residualBlock(Float64Array.from(x.data), kernels, numbers, sizes);
    return { inputs, reference };
  },
});

export const rows = [
  convolution(32, 1),
  convolution(64, 1),
  convolution(32, 8),
  convolution(64, 8),
  block(64, 1),
];
