import { input } from '../harness/data.mjs';
import { softmax } from '../reference/memory.mjs';
import { squareProduct } from './contraction.mjs';

/** Rounding operands and results to 11 bits. */
const common = { section: 'float16', needsGpu: true };
const tolerance = 3e-3;
const length = 4_000_000;
const [rowCount, width] = [4096, 1024];

const square = (n) => ({
  ...common,
  title: `hgemm ${n}`,
  kind: 'matmulHalf',
  unit: 'GFLOP/s',
  operations: 2 * n ** 3,
  build: () => ({ ...squareProduct(n), tolerance }),
});

export const rows = [
  ...[256, 1024, 2048].map(square),
  {
    ...common,
    title: 'mul, add, tanh, mul, sub over 4 M float16',
    kind: 'chainHalf',
    unit: 'ms',
    bytes: 2 * 3 * length,
    build() {
      const [x, y] = [input([length], 1), input([length], 2)];
      const reference = Float64Array.from(x.data, (u, i) => {
        const v = y.data[i];
        return Math.tanh(u * v + v) * u - v;
      });
      return { inputs: { x, y }, tolerance, reference };
    },
  },
  {
    ...common,
    title: `softmax over ${rowCount} rows of ${width} float16`,
    kind: 'softmaxHalf',
    unit: 'ms',
    bytes: 2 * 2 * rowCount * width,
    targets: [{ who: 'kaon webgpu', share: 0.7 }],
    build() {
      const x = input([rowCount, width], 1, 3);
      return { inputs: { x }, tolerance, reference: softmax(x.data, width) };
    },
  },
];
