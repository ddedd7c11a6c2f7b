import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';
import { wasmPeak } from '../peak.mjs';
import { jax, tf } from '../peers.mjs';

/** The product in float64, as the reference. */
function reference(a, b, n) {
  const c = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const x = a[i * n + k];
      for (let j = 0; j < n; j++) c[i * n + j] += x * b[k * n + j];
    }
  }
  return c;
}

function square(n) {
  return {
    title: `sgemm ${n}`,
    async build() {
      const [a, b] = [randomData(n * n, 1), randomData(n * n, 2)];
      const [x, y] = [a, b].map((data) => kn.array(data, { shape: [n, n] }));
      const peak = await wasmPeak();
      const contestants = {
        kaon: { run: () => x.matmul(y), result: () => x.matmul(y).dataSync() },
        'TF.js': null,
        'jax-js': null,
        // In the same rounds, since the machine's speed changes from minute to minute.
        'wasm peak': { run: () => peak.run(2 * n ** 3) },
      };
      if (tf !== null) {
        const [p, q] = [a, b].map((data) => tf.tensor2d(data, [n, n]));
        contestants['TF.js'] = {
          run: () => tf.matMul(p, q).dispose(), // the wasm backend computes before it returns
          result: () => tf.matMul(p, q).dataSync(),
        };
      }
      if (jax !== null) {
        const multiply = jax.jit((u, v) => jax.numpy.matmul(u, v));
        const [p, q] = [a, b].map((data) => jax.numpy.array(data).reshape([n, n]));
        contestants['jax-js'] = {
          run: async () => (await jax.blockUntilReady(multiply(p.ref, q.ref))).dispose(),
          result: async () => multiply(p.ref, q.ref).data(),
        };
      }
      return {
        name: `sgemm ${n}`,
        unit: 'GFLOP/s',
        scale: (ms) => (2 * n ** 3) / ms / 1e6,
        reference: reference(a, b, n),
        contestants,
      };
    },
  };
}

export const rows = [32, 64, 256, 512, 1024].map(square);
