import { input } from '../harness/data.mjs';
import { attention, crossEntropy, layerNorm, softmax } from '../reference/memory.mjs';

const section = 'Bound by memory';
const length = 4_000_000;
const [rowCount, width] = [4096, 1024];
const heads = { heads: 8, length: 512, size: 64 };
const floats = (count) => 4 * count;

export const rows = [
  {
    section,
    title: 'mul, add, tanh, mul, sub over 4 M floats',
    kind: 'chain',
    unit: 'ms',
    bytes: floats(3 * length),
    targets: [
      { who: 'kaon wasm', share: 0.7 },
      { who: 'kaon native', share: 0.8 },
    ],
    build() {
      const [x, y] = [input([length], 1), input([length], 2)];
      const reference = Float64Array.from(x.data, (u, i) => {
        const v = y.data[i];
        return Math.tanh(u * v + v) * u - v;
      });
      return { inputs: { x, y }, reference };
    },
  },
  {
    section,
    title: `softmax over ${rowCount} rows of ${width}`,
    kind: 'softmax',
    unit: 'ms',
    bytes: floats(2 * rowCount * width),
    targets: [{ who: 'kaon webgpu', share: 0.7 }],
    build() {
      const x = input([rowCount, width], 1, 3);
      return { inputs: { x }, reference: softmax(x.data, width) };
    },
  },
  {
    section,
    title: `layer norm over ${rowCount} rows of ${width}`,
    kind: 'layerNorm',
    unit: 'ms',
    bytes: floats(2 * rowCount * width),
    targets: [{ who: 'kaon webgpu', share: 0.7 }],
    build() {
      const [x, gamma, beta] = [
        input([rowCount, width], 1, 3),
        input([width], 2),
        input([width], 3),
      ];
      return { inputs: { x, gamma, beta }, reference: layerNorm(x.data, gamma.data, beta.data) };
    },
  },
  {
    section,
    title: 'cross-entropy with its gradient, 512 rows of 8192',
    kind: 'crossEntropy',
    unit: 'ms',
    bytes: floats(2 * 512 * 8192),
    build() {
      const x = input([512, 8192], 1, 3);
      const labels = Int32Array.from({ length: 512 }, (_, i) => (i * 611) % 8192);
      const { loss, grad } = crossEntropy(x.data, labels, 8192);
      // The gradient alone would hide a wrong loss, and the loss among so many numbers, too.
      const reference = Float64Array.from([loss, ...grad.map((value) => value * 512)]);
      return { inputs: { x, labels: { shape: [512], data: labels } }, reference };
    },
  },
  {
    section,
    title: `attention, ${heads.heads} heads, ${heads.length} x ${heads.size}`,
    kind: 'attention',
    unit: 'ms',
    operations: 4 * heads.heads * heads.length ** 2 * heads.size,
    bytes: floats(4 * heads.heads * heads.length * heads.size),
    build() {
      const shape = Object.values(heads);
      const [q, k, v] = [1, 2, 3].map((seed) => input(shape, seed));
      return { inputs: { q, k, v }, reference: attention(q.data, k.data, v.data, heads) };
    },
  },
];
