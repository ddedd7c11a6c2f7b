import { input } from '../harness/data.mjs';
import { run, shape } from '../reference/lstm.mjs';

const { steps, batch, inputs: width, size } = shape;
const title = `LSTM T=${steps} B=${batch} I=${width} H=${size}`;
const section = 'Networks';
const products = 2 * steps * batch * 4 * size * (width + size);

const gpuTarget = { who: 'kaon webgpu', than: 'TF.js', times: 10 };

/** Gates in the order input, forget, cell, output; weights (inputs, 4 * size) and (size, 4 * size). */
const arrays = () => ({
  x: input([steps, batch, width], 1),
  w: input([width, 4 * size], 2, 1 / Math.sqrt(width)),
  u: input([size, 4 * size], 3, 1 / Math.sqrt(size)),
  b: input([4 * size], 4, 0.1),
  head: input([steps, batch, size], 5),
});

const exactRun = ({ x, w, u, b, head }) => run(x.data, w.data, u.data, b.data, head.data);

export const rows = [
  {
    section,
    title: `${title}, forward`,
    kind: 'lstmForward',
    unit: 'ms',
    operations: products,
    targets: [gpuTarget],
    build() {
      const inputs = arrays();
      return { inputs, reference: exactRun(inputs).outputs };
    },
  },
  {
    section,
    title: `${title}, forward and backward`,
    kind: 'lstmBackward',
    unit: 'ms',
    operations: 3 * products - 2 * steps * batch * 4 * size * width,
    targets: [
      { who: 'kaon wasm foreach', than: 'TF.js', times: 10 },
      { who: 'kaon native foreach', than: 'PyTorch', times: 3 },
      gpuTarget,
    ],
    build() {
      const inputs = arrays();
      const { w, u, b } = exactRun(inputs).grads;
      return { inputs, reference: Float64Array.from([...w, ...u, ...b]) };
    },
  },
];
