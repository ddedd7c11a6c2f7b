// An LSTM over time in plain float64 loops, and its backward pass: what every contestant must agree with.
// Gates in the order input, forget, cell, output; weights are (inputs, 4 * size) and (size, 4 * size).
import { multiply } from './multiply.mjs';

export const shape = { steps: 50, batch: 16, inputs: 64, size: 128 };

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/**
 * The outputs of all steps for x (steps, batch, inputs), from states of zeros, and the gradients of
 * their sum weighted by `head` with respect to both weights and the bias.
 */
export function run(x, w, u, b, head) {
  const { steps, batch, inputs, size } = shape;
  const width = batch * size;
  const outputs = new Float64Array(steps * width);
  const kept = [];
  let h = new Float64Array(width);
  let c = new Float64Array(width);
  for (let t = 0; t < steps; t++) {
    const row = x.subarray(t * batch * inputs, (t + 1) * batch * inputs);
    const fromInput = multiply(row, w, batch, inputs, 4 * size);
    const fromState = multiply(h, u, batch, size, 4 * size);
    const gates = [0, 1, 2, 3].map((k) =>
      Float64Array.from({ length: width }, (_, i) => {
        const at = Math.floor(i / size) * 4 * size + k * size + (i % size);
        const z = fromInput[at] + fromState[at] + b[k * size + (i % size)];
        return k === 2 ? Math.tanh(z) : sigmoid(z);
      }),
    );
    const [i, f, g, o] = gates;
    const before = { h, c };
    c = c.map((value, k) => f[k] * value + i[k] * g[k]);
    h = c.map((value, k) => o[k] * Math.tanh(value));
    outputs.set(h, t * width);
    kept.push({ row, before, gates, c });
  }
  const grads = {
    w: new Float64Array(inputs * 4 * size),
    u: new Float64Array(size * 4 * size),
    b: new Float64Array(4 * size),
  };
  let dh = new Float64Array(width);
  let dc = new Float64Array(width);
  for (let t = steps - 1; t >= 0; t--) {
    const { row, before, gates, c: cell } = kept[t];
    const [i, f, g, o] = gates;
    const dz = new Float64Array(4 * width);
    for (let k = 0; k < width; k++) {
      const squashed = Math.tanh(cell[k]);
      const dhk = dh[k] + head[t * width + k];
      const dck = dc[k] + dhk * o[k] * (1 - squashed ** 2);
      const at = Math.floor(k / size) * 4 * size + (k % size);
      dz[at] = dck * g[k] * i[k] * (1 - i[k]);
      dz[at + size] = dck * before.c[k] * f[k] * (1 - f[k]);
      dz[at + 2 * size] = dck * i[k] * (1 - g[k] ** 2);
      dz[at + 3 * size] = dhk * squashed * o[k] * (1 - o[k]);
      dc[k] = dck * f[k];
    }
    dh = multiply(dz, u, batch, 4 * size, size, { transposeB: true });
    const accumulate = (into, more) => more.forEach((value, k) => (into[k] += value));
    accumulate(grads.w, multiply(row, dz, inputs, batch, 4 * size, { transposeA: true }));
    accumulate(grads.u, multiply(before.h, dz, size, batch, 4 * size, { transposeA: true }));
    for (let k = 0; k < dz.length; k++) grads.b[k % (4 * size)] += dz[k];
  }
  return { outputs, grads };
}
