import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';
import { jax, tf } from '../peers.mjs';

const size = 4_000_000;

export const rows = [
  {
    title: 'elementwise chain',
    async build() {
      const [a, b] = [randomData(size, 1), randomData(size, 2)];
      const [x, y] = [a, b].map((data) => kn.array(data));
      const chain = kn.hybridize((u, v) => u.mul(v).add(v).tanh().mul(u).sub(v));
      const contestants = {
        'kaon captured': { run: () => chain(x, y), result: () => chain(x, y).dataSync() },
        'kaon eager': { run: () => x.mul(y).add(y).tanh().mul(x).sub(y) },
        'TF.js': null,
        'jax-js': null,
      };
      if (tf !== null) {
        const [p, q] = [a, b].map((data) => tf.tensor1d(data));
        const run = () => tf.tidy(() => p.mul(q).add(q).tanh().mul(p).sub(q));
        contestants['TF.js'] = { run: () => run().dispose(), result: () => run().dataSync() };
      }
      if (jax !== null) {
        const np = jax.numpy;
        const chained = jax.jit((u, v) => np.tanh(u.ref.mul(v.ref).add(v.ref)).mul(u).sub(v));
        const [p, q] = [a, b].map((data) => np.array(data));
        contestants['jax-js'] = {
          run: async () => (await jax.blockUntilReady(chained(p.ref, q.ref))).dispose(),
          result: async () => chained(p.ref, q.ref).data(),
        };
      }
      return {
        name: 'mul, add, tanh, mul, sub over 4 M floats',
        unit: 'ms',
        reference: a.map((value, i) => Math.tanh(value * b[i] + b[i]) * value - b[i]),
        contestants,
      };
    },
  },
];
