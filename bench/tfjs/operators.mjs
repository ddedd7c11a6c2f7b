import { computed, tensorWith } from './tensors.mjs';

/** Single operators and short chains of them. */
export function operatorKinds(tf) {
  const tensor = tensorWith(tf);
  const operator = (f) => (inputs) => {
    const tensors = Object.values(inputs).map(tensor);
    return computed(tf, () => f(...tensors));
  };

  /** One operator leaves nothing behind but its result, so it needs no scope to tidy up. */
  const single = (f) => (inputs) => {
    const tensors = Object.values(inputs).map(tensor);
    return {
      run: () => f(...tensors).dispose(),
      result: () => f(...tensors).data(),
    };
  };

  /** Normalizes the last axis. */
  const layerNorm = (x, gamma, beta) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(gamma).add(beta);
  };

  const attention = (q, k, v) =>
    tf.matMul(tf.softmax(tf.matMul(q, k, false, true).mul(1 / Math.sqrt(q.shape[2]))), v);

  /** Loss and gradient; times the number of rows, so that both count. */
  const crossEntropy = (inputs) => {
    const [rows, columns] = inputs.x.shape;
    const x = tensor(inputs.x);
    const target = tf.oneHot(tensor(inputs.labels), columns).toFloat();
    const both = tf.valueAndGrad((scores) => tf.losses.softmaxCrossEntropy(target, scores));
    return {
      run: () => {
        const { value, grad } = tf.tidy(() => both(x));
        tf.dispose([value, grad]);
      },
      result: async () => {
        const { value, grad } = both(x);
        return [...(await value.data()), ...(await grad.data()).map((entry) => entry * rows)];
      },
    };
  };

  /** TF.js keeps channels last: its own layout, since the layout is no part of the question. */
  const convolution = (inputs) => {
    const x = tf.tidy(() => tensor(inputs.x).transpose([0, 2, 3, 1]));
    const w = tf.tidy(() => tensor(inputs.w).transpose([2, 3, 1, 0]));
    const convolve = () => tf.conv2d(x, w, 1, 'same');
    return {
      run: () => convolve().dispose(),
      result: () => tf.tidy(() => convolve().transpose([0, 3, 1, 2])).data(),
    };
  };

  return {
    matmul: { '': single((a, b) => tf.matMul(a, b)) },
    chain: { '': operator((u, v) => u.mul(v).add(v).tanh().mul(u).sub(v)) },
    eagerAdd: { '': single((a, b) => tf.add(a, b)) },
    softmax: { '': single((x) => tf.softmax(x)) },
    layerNorm: { '': operator(layerNorm) },
    meanAll: { '': single((x) => tf.mean(x)) },
    sumRows: { '': single((x) => tf.sum(x, 1)) },
    sumColumns: { '': single((x) => tf.sum(x, 0)) },
    variance: { '': operator((x) => tf.moments(x, 1).variance) },
    norm: { '': operator((x) => tf.norm(x, 'euclidean', 1)) },
    attention: { '': operator(attention) },
    crossEntropy: { '': crossEntropy },
    convolution: { '': convolution },
  };
}
