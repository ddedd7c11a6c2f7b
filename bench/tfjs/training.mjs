import { parametersOf, stepKinds } from '../harness/training.mjs';
import { tensorWith } from './tensors.mjs';

/** Steps of training networks. */
export function trainingKinds(tf) {
  const tensor = tensorWith(tf);

  /** A step of what `network(inputs, case)` makes: `{ parameters, x, scores(parameters, x) }`. */
  function trainer(network, inputs, work) {
    const { parameters, x, scores } = network(inputs, work);
    const variables = Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name, tf.variable(value)]),
    );
    const optimizer = tf.train.sgd(work.rate);
    const target = tensor(inputs.hot);
    const loss = () => tf.losses.softmaxCrossEntropy(target, scores(variables, x));
    return async () => {
      const value = optimizer.minimize(loss, true);
      const [number] = await value.data();
      value.dispose();
      return number;
    };
  }

  const perceptron = (inputs) => ({
    parameters: parametersOf(inputs, tensor),
    x: tensor(inputs.x),
    scores: (p, x) => {
      const layer = (value, i) => value.matMul(p[`w${i}`]).add(p[`b${i}`]);
      return layer(layer(layer(x, 0).relu(), 1).relu(), 2);
    },
  });

  const layerNorm = (x, gamma, beta) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(gamma).add(beta);
  };

  /** Tokens are rows of a matrix, and queries, keys and values are projected by one product. */
  function transformer(inputs, { sizes }) {
    const { layers, width, heads, batch, time } = sizes;
    const size = width / heads;
    const parameters = parametersOf(inputs, tensor);
    for (let i = 0; i < layers; i++) {
      for (const letter of ['w', 'b']) {
        const parts = ['q', 'k', 'v'].map((one) => parameters[`${i}.${letter}${one}`]);
        parameters[`${i}.${letter}`] = tf.concat(parts, -1);
        for (const one of ['q', 'k', 'v']) delete parameters[`${i}.${letter}${one}`];
      }
    }
    const later = tf.linalg
      .bandPart(tf.ones([time, time]), -1, 0)
      .sub(1)
      .mul(1e9);
    const split = (x) => x.reshape([batch, time, heads, size]).transpose([0, 2, 1, 3]);
    const attention = (x) => {
      const [q, k, v] = tf.split(x, 3, -1).map(split);
      const weights = tf.softmax(
        q
          .matMul(k, false, true)
          .mul(1 / Math.sqrt(size))
          .add(later),
      );
      return weights
        .matMul(v)
        .transpose([0, 2, 1, 3])
        .reshape([batch * time, width]);
    };
    const scores = (p, x) => {
      let value = x;
      for (let i = 0; i < layers; i++) {
        const of = (name) => p[`${i}.${name}`];
        const dense = (x, w, b) => x.matMul(of(w)).add(of(b));
        const norm = layerNorm(value, of('gamma1'), of('beta1'));
        value = value.add(dense(attention(dense(norm, 'w', 'b')), 'wo', 'bo'));
        const innerNorm = layerNorm(value, of('gamma2'), of('beta2'));
        value = value.add(dense(dense(innerNorm, 'w1', 'b1').relu(), 'w2', 'b2'));
      }
      return layerNorm(value, p.gamma, p.beta).matMul(p.w).add(p.b);
    };
    return { parameters, x: tensor(inputs.x).reshape([batch * time, width]), scores };
  }

  /** Channels last, as TF.js keeps them; the scores' weights take them in the order of the others. */
  function convolutional(inputs, { sizes: { side, channels, classes } }) {
    const parameters = parametersOf(inputs, tensor);
    for (const name of ['w0', 'w1']) parameters[name] = parameters[name].transpose([2, 3, 1, 0]);
    const last = [channels[2], side / 4, side / 4, classes];
    parameters.w2 = parameters.w2.reshape(last).transpose([1, 2, 0, 3]).reshape([-1, classes]);
    const pooled = (x, w, b) => tf.maxPool(tf.conv2d(x, w, 1, 'same').add(b).relu(), 2, 2, 'valid');
    const scores = (p, x) => {
      const value = pooled(pooled(x, p.w0, p.b0), p.w1, p.b1);
      return value.reshape([value.shape[0], -1]).matMul(p.w2).add(p.b2);
    };
    return { parameters, x: tensor(inputs.x).transpose([0, 2, 3, 1]), scores };
  }

  return stepKinds(trainer, {
    mlpStep: perceptron,
    transformerStep: transformer,
    convolutionalStep: convolutional,
  });
}
