import { kn } from '../kaon.mjs';
import { array, computed, hybridizeBlock } from './tier.mjs';
import { allStepForms } from './training.mjs';

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

export const kinds = {
  mlpStep: allStepForms(network),
  mlpForward: {
    captured: (inputs) => {
      const [net, x] = [hybridizeBlock(network(inputs)), array(inputs.x)];
      return computed(() => net.call(x));
    },
  },
};
