import { input } from '../harness/data.mjs';
import { multiply } from '../reference/multiply.mjs';
import { productError } from '../reference/projection.mjs';

const section = 'Contractions';

/** Where plain loops would take longer than everything else. */
const isLarge = (n) => n >= 1024;

/** A case of a square product and what its result is checked by. */
export function squareProduct(n) {
  const [a, b] = [input([n, n], 1), input([n, n], 2)];
  const check = isLarge(n)
    ? { errorOf: productError(a.data, b.data, n, n, n) }
    : { reference: multiply(a.data, b.data, n, n, n) };
  return { inputs: { a, b }, ...check };
}

const gpuTargets = [
  { who: 'kaon webgpu', than: 'jax-js', times: 3 },
  { who: 'kaon webgpu', than: 'TF.js', times: 1.5 },
];

function square(n) {
  const small = n <= 64;
  return {
    section,
    title: `sgemm ${n}`,
    kind: 'matmul',
    unit: 'GFLOP/s',
    operations: 2 * n ** 3,
    targets: small
      ? [
          { who: 'kaon wasm', than: 'TF.js', times: 3 },
          { who: 'kaon wasm', than: 'jax-js', times: 3 },
          { who: 'kaon native', than: 'PyTorch', times: 3 },
        ]
      : [
          { who: 'kaon wasm', share: 0.85 },
          { who: 'kaon native', than: 'OpenBLAS', times: 0.9 },
          ...(isLarge(n) ? gpuTargets : []),
        ],
    build: () => squareProduct(n),
  };
}

/** Few results that are long sums. */
function long(m, inner, n) {
  return {
    section,
    title: `sgemm ${m} x ${inner} x ${n}`,
    kind: 'matmul',
    unit: 'GFLOP/s',
    operations: 2 * m * inner * n,
    bytes: 4 * (m + n) * inner,
    targets: [],
    build() {
      const [a, b] = [input([m, inner], 1), input([inner, n], 2)];
      return { inputs: { a, b }, reference: multiply(a.data, b.data, m, inner, n) };
    },
  };
}

const [inner, outer] = [1024, 1024];

/** One row times a matrix: as fast as the matrix can be read. */
const skinny = {
  section,
  title: `sgemm 1 x ${inner} x ${outer}`,
  kind: 'matmul',
  unit: 'GFLOP/s',
  operations: 2 * inner * outer,
  bytes: 4 * inner * outer,
  targets: [],
  build() {
    const [a, b] = [input([1, inner], 1), input([inner, outer], 2)];
    return { inputs: { a, b }, reference: multiply(a.data, b.data, 1, inner, outer) };
  },
};

export const rows = [
  ...[16, 32, 64, 256, 512, 1024].map(square),
  // Whole rounds of a processor.
  ...[2048, 4096].map((n) => ({ ...square(n), needsGpu: true })),
  skinny,
  long(64, 32768, 64),
];
