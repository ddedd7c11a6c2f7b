// The multilayer perceptron of the benchmark in plain float64 loops: what every contestant must agree with.
import { multiply } from './multiply.mjs';

export const sizes = [784, 256, 128, 10];
export const batch = 64;
export const rate = 0.05;

/** The activations of all layers, the input first, for a batch of any size. */
function activate(weights, biases, x, count) {
  const activations = [Float64Array.from(x)];
  weights.forEach((w, layer) => {
    const z = multiply(activations[layer], w, count, sizes[layer], sizes[layer + 1]);
    for (let i = 0; i < z.length; i++) {
      z[i] += biases[layer][i % sizes[layer + 1]];
      if (layer < weights.length - 1) z[i] = Math.max(0, z[i]);
    }
    activations.push(z);
  });
  return activations;
}

/** The scores of a batch, for weights (inputs, units). */
export const forward = (weights, biases, x, count) => activate(weights, biases, x, count).at(-1);

/** The mean cross-entropy of a batch, and one step of gradient descent on weights (inputs, units) and biases. */
export function step(weights, biases, x, labels) {
  const activations = activate(weights, biases, x, batch);
  const classes = sizes.at(-1);
  let grad = Float64Array.from(activations.at(-1));
  let loss = 0;
  for (let i = 0; i < batch; i++) {
    const row = grad.subarray(i * classes, (i + 1) * classes);
    const top = Math.max(...row);
    const total = row.reduce((sum, value) => sum + Math.exp(value - top), 0);
    loss -= row[labels[i]] - top - Math.log(total);
    for (let j = 0; j < classes; j++)
      row[j] = (Math.exp(row[j] - top) / total - (j === labels[i] ? 1 : 0)) / batch;
  }
  for (let layer = weights.length - 1; layer >= 0; layer--) {
    const [inputs, units] = [sizes[layer], sizes[layer + 1]];
    const slope = multiply(activations[layer], grad, inputs, batch, units, { transposeA: true });
    const below = multiply(grad, weights[layer], batch, units, inputs, { transposeB: true });
    for (let i = 0; i < slope.length; i++) weights[layer][i] -= rate * slope[i];
    for (let i = 0; i < grad.length; i++) biases[layer][i % units] -= rate * grad[i];
    grad = below.map((value, i) => (activations[layer][i] > 0 ? value : 0));
  }
  return loss / batch;
}
