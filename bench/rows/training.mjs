// Whole steps of training: forward, gradients and update.
import { input } from '../harness/data.mjs';
import {
  convolutionalLoss,
  convolutionalShapes,
  losses,
  transformerLoss,
  transformerShapes,
} from '../reference/networks.mjs';

const section = 'Networks';
const rate = 0.1;
const targets = [
  { who: 'kaon webgpu', than: 'TF.js', times: 3 },
  { who: 'kaon webgpu', than: 'jax-js', times: 3 },
];

/** Parameters of the size that they have at the beginning of training: those that multiply rows of norms are near 1. */
function drawn(shapes) {
  const entries = Object.entries(shapes).map(([name, shape], i) => {
    const fanIn = { 1: 100, 2: shape[0], 4: 9 * shape[1] }[shape.length];
    const { data } = input(shape, i + 1, 1 / Math.sqrt(fanIn));
    return [name, { shape, data: name.includes('gamma') ? data.map((value) => 1 + value) : data }];
  });
  return Object.fromEntries(entries);
}

/** A row for a network: its parameters, images or tokens, and what these are, as numbers and one of them 1. */
function stepRow({ title, kind, checked, operations, sizes, shapes, xShape, labelShape, lossOf }) {
  return {
    section,
    title,
    kind,
    unit: 'ms',
    operations,
    sizes,
    rate,
    checked,
    targets,
    build() {
      const parameters = drawn(shapes);
      const x = input(xShape, 42);
      const count = labelShape.reduce((product, size) => product * size, 1);
      const labels = Int32Array.from({ length: count }, (_, i) => (i * 7) % sizes.classes);
      const hot = Float32Array.from({ length: count * sizes.classes }, (_, i) =>
        i % sizes.classes === labels[Math.floor(i / sizes.classes)] ? 1 : 0,
      );
      const start = Object.fromEntries(
        Object.entries(parameters).map(([name, { data }]) => [name, data]),
      );
      const inputs = {
        ...parameters,
        x,
        labels: { shape: labelShape, data: labels },
        hot: { shape: [count, sizes.classes], data: hot },
      };
      const of = (state) => lossOf(state, x.data, labels, sizes);
      return { inputs, reference: losses(of, start, rate, checked), tolerance: 2e-5 };
    },
  };
}

const transformer = { layers: 2, width: 256, heads: 4, hidden: 1024, batch: 8, time: 128, classes: 16 }; // prettier-ignore

function transformerRow(sizes) {
  const { layers, width, heads, hidden, batch, time, classes } = sizes;
  const products = layers * (4 * width ** 2 + 2 * width * hidden) + width * classes;
  const attention = layers * 2 * time * width;
  return stepRow({
    title: `transformer, ${layers} layers of ${width}, ${heads} heads, batch ${batch}, time ${time}, train step`,
    kind: 'transformerStep',
    checked: 2,
    // Forward, and twice backward.
    operations: 3 * 2 * batch * time * (products + attention),
    sizes,
    shapes: transformerShapes(sizes),
    xShape: [batch, time, width],
    labelShape: [batch, time],
    lossOf: transformerLoss,
  });
}

const convolutional = { batch: 64, side: 28, channels: [1, 32, 64], classes: 10 };

function convolutionalRow(sizes) {
  const { batch, side, channels, classes } = sizes;
  const [inputs, first, second] = channels;
  const convolutions = [inputs * first * side ** 2, first * second * (side / 2) ** 2].map((one) => 9 * one); // prettier-ignore
  const scores = second * (side / 4) ** 2 * classes;
  return stepRow({
    title: `convolutional network, ${first} and ${second} channels, ${side}x${side}, batch ${batch}, train step`,
    kind: 'convolutionalStep',
    checked: 3,
    // Nobody asks for the gradient of the images.
    operations: 2 * batch * (2 * convolutions[0] + 3 * convolutions[1] + 3 * scores),
    sizes,
    shapes: convolutionalShapes(sizes),
    xShape: [batch, inputs, side, side],
    labelShape: [batch],
    lossOf: convolutionalLoss,
  });
}

export const rows = [transformerRow(transformer), convolutionalRow(convolutional)];
