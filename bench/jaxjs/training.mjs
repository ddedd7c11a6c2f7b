import { parametersOf, stepKinds } from '../harness/training.mjs';

/** Steps of training networks. Arrays are used up by what they are passed to, unless `.ref` is passed. */
export function trainingKinds(jax) {
  const { numpy: np, nn, lax } = jax;
  const array = ({ data, shape }) => np.array(data).reshape(shape);

  /** A compiled step of what `network(inputs, case)` makes: `{ parameters, x, scores(parameters, x) }`. */
  function trainer(network, inputs, work) {
    const { x, parameters, scores } = network(inputs, work);
    let state = parameters;
    const target = array(inputs.hot);
    const [count] = inputs.hot.shape;
    const loss = (list, u, t) =>
      nn
        .logSoftmax(scores(list, u), -1)
        .mul(t)
        .sum()
        .mul(-1 / count);
    const update = jax.jit((list, u, t) => {
      const refs = mapped(list, (p) => p.ref);
      const [value, grads] = jax.valueAndGrad(loss)(refs, u, t);
      return [value, mapped(list, (p, name) => p.sub(grads[name].mul(work.rate)))];
    });
    return async () => {
      const [value, next] = update(state, x.ref, target.ref);
      state = next;
      // The parameters come from the same program, which has ended when its loss can be read.
      return (await value.data())[0];
    };
  }

  const perceptron = (inputs) => ({
    parameters: parametersOf(inputs, array),
    x: array(inputs.x),
    scores: (p, x) => {
      const layer = (value, i) => np.matmul(value, p[`w${i}`]).add(p[`b${i}`]);
      return layer(nn.relu(layer(nn.relu(layer(x, 0)), 1)), 2);
    },
  });

  const layerNorm = (x, gamma, beta) =>
    nn.standardize(x, -1, { epsilon: 1e-5 }).mul(gamma).add(beta);

  function transformer(inputs, { sizes }) {
    const { layers, width, heads, batch, time } = sizes;
    const size = width / heads;
    const split = (x) => np.transpose(x.reshape([batch, time, heads, size]), [0, 2, 1, 3]);
    /** By products: its own function needs an engine that is newer than Node 20. */
    const attention = (q, k, v) => {
      const later = np.tri(time, time).sub(1).mul(1e9);
      const products = np.matmul(q.mul(1 / Math.sqrt(size)), np.swapaxes(k, -2, -1));
      const mixed = np.matmul(nn.softmax(products.add(later), -1), v);
      return np.transpose(mixed, [0, 2, 1, 3]).reshape([batch * time, width]);
    };
    const scores = (p, x) => {
      let value = x;
      for (let i = 0; i < layers; i++) {
        const of = (name) => p[`${i}.${name}`];
        const dense = (x, w, b) => np.matmul(x, of(w)).add(of(b));
        const norm = layerNorm(value.ref, of('gamma1'), of('beta1'));
        const [q, k, v] = ['q', 'k', 'v'].map((one, at) =>
          split(dense(at < 2 ? norm.ref : norm, `w${one}`, `b${one}`)),
        );
        value = value.add(dense(attention(q, k, v), 'wo', 'bo'));
        const innerNorm = layerNorm(value.ref, of('gamma2'), of('beta2'));
        value = value.add(dense(nn.relu(dense(innerNorm, 'w1', 'b1')), 'w2', 'b2'));
      }
      return np.matmul(layerNorm(value, p.gamma, p.beta), p.w).add(p.b);
    };
    const x = array(inputs.x).reshape([batch * time, width]);
    return { parameters: parametersOf(inputs, array), x, scores };
  }

  function convolutional(inputs, { sizes: { batch, side, channels } }) {
    const stage = (x, w, b, layer) => {
      const count = channels[layer + 1];
      const half = side >> (layer + 1);
      const y = nn.relu(lax.conv(x, w, [1, 1], 'SAME').add(b.reshape([count, 1, 1])));
      return np.max(y.reshape([batch, count, half, 2, half, 2]), [3, 5]);
    };
    const scores = (p, x) => {
      const value = stage(stage(x, p.w0, p.b0, 0), p.w1, p.b1, 1);
      return np.matmul(value.reshape([batch, -1]), p.w2).add(p.b2);
    };
    return { parameters: parametersOf(inputs, array), x: array(inputs.x), scores };
  }

  return stepKinds(trainer, {
    mlpStep: perceptron,
    transformerStep: transformer,
    convolutionalStep: convolutional,
  });
}

const mapped = (values, make) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value, name)]));
