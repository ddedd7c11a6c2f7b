import { computed, tensorWith } from './tensors.mjs';

/** The multilayer perceptron and the residual block. */
export function networkKinds(tf) {
  const tensor = tensorWith(tf);

  const perceptron = (weights, biases, x) =>
    weights.reduce((value, weight, i) => {
      const z = value.matMul(weight).add(biases[i]);
      return i < weights.length - 1 ? z.relu() : z;
    }, x);

  const layers = (inputs, letter, make) => [0, 1, 2].map((i) => make(inputs[`${letter}${i}`]));

  const mlpForward = (inputs) => {
    const [weights, biases] = [layers(inputs, 'w', tensor), layers(inputs, 'b', tensor)];
    const x = tensor(inputs.x);
    return computed(tf, () => perceptron(weights, biases, x));
  };

  /** Channels last, as TF.js keeps them. */
  const residualBlock = (inputs) => {
    const x = tf.tidy(() => tensor(inputs.x).transpose([0, 2, 3, 1]));
    const stages = [0, 1].map((i) => ({
      w: tf.tidy(() => tensor(inputs[`w${i}`]).transpose([2, 3, 1, 0])),
      ...Object.fromEntries(
        ['mean', 'variance', 'beta', 'gamma'].map((name) => [name, tensor(inputs[name + i])]),
      ),
    }));
    const stage = (value, { w, mean, variance, beta, gamma }) =>
      tf.batchNorm(tf.conv2d(value, w, 1, 'same'), mean, variance, beta, gamma, 1e-5);
    const block = () => stage(stage(x, stages[0]).relu(), stages[1]).add(x).relu();
    return {
      run: () => tf.tidy(block).dispose(),
      result: () => tf.tidy(() => block().transpose([0, 3, 1, 2])).data(),
    };
  };

  return {
    mlpForward: { '': mlpForward },
    residualBlock: { '': residualBlock },
  };
}
