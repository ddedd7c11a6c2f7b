import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';
import { jax, tf } from '../peers.mjs';
import { batch, rate, sizes, step } from '../reference/mlp.mjs';

/** Losses of this many steps are compared before timing. */
const checked = 3;

const weights = () =>
  sizes.slice(1).map((units, i) => randomData(sizes[i] * units, i + 1, 1 / Math.sqrt(sizes[i])));
const biases = () => sizes.slice(1).map((units, i) => randomData(units, i + 9, 0.1));
const x = randomData(batch * sizes[0], 42);
const labels = Int32Array.from({ length: batch }, (_, i) => (i * 7) % 10);
const hot = Float32Array.from({ length: batch * 10 }, (_, i) =>
  i % 10 === labels[Math.floor(i / 10)] ? 1 : 0,
);

function referenceLosses() {
  const [w, b] = [
    weights().map((a) => Float64Array.from(a)),
    biases().map((a) => Float64Array.from(a)),
  ];
  return Float64Array.from({ length: checked }, () => step(w, b, x, labels));
}

function collect(run) {
  return async () => {
    const losses = [];
    for (let i = 0; i < checked; i++) losses.push(Number(await run()));
    return Float64Array.from(losses);
  };
}

class Mlp extends kn.nn.HybridBlock {
  layers = sizes
    .slice(1)
    .map(
      (units, i) => new kn.nn.Dense(units, { inputs: sizes[i], activation: i < 2 ? 'relu' : null }),
    );

  forward(input) {
    return this.layers.reduce((value, layer) => layer.call(value), input);
  }
}

function kaonNet() {
  const net = new Mlp().initialize();
  const [w, b] = [weights(), biases()];
  net.layers.forEach((layer, i) => {
    layer.weight.assign(kn.array(w[i], { shape: [sizes[i], sizes[i + 1]] }).transpose());
    layer.bias.assign(kn.array(b[i]));
  });
  return net;
}

/** A training step, `form` being `eager`, `captured` (the network only) or `whole`. */
function kaonStep(form) {
  const net = kaonNet();
  if (form === 'captured') net.hybridize();
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: rate });
  const input = kn.array(x, { shape: [batch, sizes[0]] });
  const target = kn.array(labels);
  const written = (u, t) => {
    const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(u), t));
    loss.backward();
    optimizer.step();
    return loss;
  };
  const step = form === 'whole' ? kn.hybridize(written) : written;
  return () => step(input, target).item();
}

function tfStep() {
  const w = weights().map((data, i) => tf.variable(tf.tensor2d(data, [sizes[i], sizes[i + 1]])));
  const b = biases().map((data) => tf.variable(tf.tensor1d(data)));
  const optimizer = tf.train.sgd(rate);
  const [input, target] = [tf.tensor2d(x, [batch, sizes[0]]), tf.tensor2d(hot, [batch, 10])];
  const loss = () =>
    tf.losses.softmaxCrossEntropy(
      target,
      w.reduce((value, weight, i) => {
        const z = value.matMul(weight).add(b[i]);
        return i < 2 ? z.relu() : z;
      }, input),
    );
  return () => {
    const value = optimizer.minimize(loss, true);
    const [number] = value.dataSync();
    value.dispose();
    return number;
  };
}

function jaxStep() {
  const { numpy: np, nn } = jax;
  let parameters = [
    ...weights().map((data, i) => np.array(data).reshape([sizes[i], sizes[i + 1]])),
    ...biases().map((data) => np.array(data)),
  ];
  const [input, target] = [
    np.array(x).reshape([batch, sizes[0]]),
    np.array(hot).reshape([batch, 10]),
  ];
  const loss = (list, u, t) => {
    let value = u;
    for (let i = 0; i < 3; i++) {
      value = np.matmul(value, list[i]).add(list[3 + i]);
      if (i < 2) value = nn.relu(value);
    }
    return nn
      .logSoftmax(value, -1)
      .mul(t)
      .sum()
      .mul(-1 / batch);
  };
  const update = jax.jit((list, u, t) => {
    const [value, grads] = jax.valueAndGrad(loss)(
      list.map((p) => p.ref),
      u,
      t,
    );
    return [value, list.map((p, i) => p.sub(grads[i].mul(rate)))];
  });
  return async () => {
    const [value, next] = update(parameters, input.ref, target.ref);
    parameters = next;
    await jax.blockUntilReady(next.map((p) => p.ref));
    return (await value.data())[0];
  };
}

export const rows = [
  {
    title: 'MLP train step',
    build: async () => {
      const contestants = {
        'kaon whole step': { run: kaonStep('whole'), result: collect(kaonStep('whole')) },
        'kaon captured': { run: kaonStep('captured'), result: collect(kaonStep('captured')) },
        'kaon eager': { run: kaonStep('eager'), result: collect(kaonStep('eager')) },
        'TF.js': tf === null ? null : { run: tfStep(), result: collect(tfStep()) },
        'jax-js': jax === null ? null : { run: jaxStep(), result: collect(jaxStep()) },
      };
      return {
        name: 'MLP 784-256-128-10, batch 64, train step',
        unit: 'ms',
        reference: referenceLosses(),
        tolerance: 1e-3,
        contestants,
      };
    },
  },
  ...[batch, 1].map((count) => ({
    title: `MLP forward batch ${count}`,
    build: async () => {
      const net = kaonNet().hybridize();
      const data = x.subarray(0, count * sizes[0]);
      const input = kn.array(data, { shape: [count, sizes[0]] });
      const contestants = {
        'kaon captured': { run: () => net.call(input), result: () => net.call(input).dataSync() },
        'TF.js': null,
      };
      if (tf !== null) {
        const w = weights().map((values, i) => tf.tensor2d(values, [sizes[i], sizes[i + 1]]));
        const b = biases().map((values) => tf.tensor1d(values));
        const t = tf.tensor2d(data, [count, sizes[0]]);
        const forward = () =>
          tf.tidy(() =>
            w.reduce((value, weight, i) => {
              const z = value.matMul(weight).add(b[i]);
              return i < 2 ? z.relu() : z;
            }, t),
          );
        contestants['TF.js'] = {
          run: () => forward().dispose(),
          result: () => forward().dataSync(),
        };
      }
      const reference = tf === null ? undefined : contestants['TF.js'].result();
      return { name: `MLP forward, batch ${count}`, unit: 'ms', reference, contestants };
    },
  })),
];
