// The multilayer perceptron of the benchmark in plain float64 loops: what every contestant must agree with.
import { dense, relu } from './layers.mjs';
import { crossEntropy } from './memory.mjs';

export const sizes = [784, 256, 128, 10];
export const batch = 64;
export const rate = 0.05;

/** All layers for a batch of any size, dense and rectified in turn; parameters are called `w0`, `b0` and so on. */
function layersOf(parameters, x) {
  const layers = [dense(Float64Array.from(x), parameters.w0, parameters.b0)];
  for (let i = 1; i < sizes.length - 1; i++) {
    layers.push(relu(layers.at(-1).y));
    layers.push(dense(layers.at(-1).y, parameters[`w${i}`], parameters[`b${i}`]));
  }
  return layers;
}

/** The scores of a batch, for weights (inputs, units). */
export const forward = (parameters, x) => layersOf(parameters, x).at(-1).y;

/** The mean cross-entropy of a batch, and what gives its gradients by the parameters. */
export function mlpLoss(parameters, x, labels) {
  const layers = layersOf(parameters, x);
  const { loss, grad } = crossEntropy(layers.at(-1).y, labels, sizes.at(-1));
  const gradients = () => {
    const grads = {};
    let dy = grad;
    for (const [at, layer] of [...layers.entries()].toReversed()) {
      const [dx, w, b] = layer.back(dy);
      if (w !== undefined) Object.assign(grads, { [`w${at / 2}`]: w, [`b${at / 2}`]: b });
      dy = dx;
    }
    return grads;
  };
  return { loss, gradients };
}
