import { kn } from '../kaon.mjs';
import { array, computed, hybridize, hybridizeBlock } from './tier.mjs';

class Mlp extends kn.nn.HybridBlock {
  constructor(weights) {
    super();
    const last = weights.length - 1;
    this.layers = weights.map(
      ({ shape: [inputs, units] }, i) =>
        new kn.nn.Dense(units, { inputs, activation: i < last ? 'relu' : null }),
    );
  }

  forward(x) {
    return this.layers.reduce((value, layer) => layer.call(value), x);
  }
}

function network(inputs) {
  const weights = [inputs.w0, inputs.w1, inputs.w2];
  const net = new Mlp(weights).initialize();
  net.layers.forEach((layer, i) => {
    layer.weight.assign(array(weights[i]).transpose());
    layer.bias.assign(array(inputs[`b${i}`]));
  });
  return net;
}

/** A training step: as it is written, with the network captured, or captured whole. */
function trainer(form, inputs, rate) {
  const net = network(inputs);
  if (form === 'captured') hybridizeBlock(net);
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: rate });
  const written = (u, t) => {
    const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(u), t));
    loss.backward();
    optimizer.step();
    return loss;
  };
  const step = form === 'whole' ? hybridize(written) : written;
  const [x, labels] = [array(inputs.x), array(inputs.labels)];
  return () => step(x, labels).item();
}

const stepAs =
  (form) =>
  (inputs, { rate, checked }) => ({
    run: trainer(form, inputs, rate),
    result: () => Array.from({ length: checked }, trainer(form, inputs, rate)),
  });

export const kinds = {
  mlpStep: {
    'whole step': stepAs('whole'),
    captured: stepAs('captured'),
    eager: stepAs('eager'),
  },
  mlpForward: {
    captured: (inputs) => {
      const [net, x] = [hybridizeBlock(network(inputs)), array(inputs.x)];
      return computed(() => net.call(x));
    },
  },
};
