// Networks that are trained.
import { kn } from '../kaon.mjs';
import { array } from './tier.mjs';
import { stepForms } from './training.mjs';

const { nn } = kn;

/** Gives a layer the weight (inputs, units) and the bias of a case. */
function assignDense(dense, weight, bias) {
  dense.weight.assign(array(weight).transpose());
  dense.bias.assign(array(bias));
}

function assignNorm(norm, gamma, beta) {
  norm.gamma.assign(array(gamma));
  norm.beta.assign(array(beta));
}

class Transformer extends nn.HybridBlock {
  constructor({ layers, width, heads, hidden, classes }) {
    super();
    const options = { hidden, dropout: 0, activation: 'relu' };
    this.layers = Array.from(
      { length: layers },
      () => new nn.TransformerEncoderLayer(width, heads, options),
    );
    this.norm = new nn.LayerNorm();
    this.scores = new nn.Dense(classes);
  }

  forward(x) {
    const mixed = this.layers.reduce((value, layer) => layer.call(value, { causal: true }), x);
    return this.scores.call(this.norm.call(mixed));
  }
}

function transformer(inputs, { sizes }) {
  const net = new Transformer(sizes).initialize();
  net.call(array(inputs.x)); // makes the parameters
  for (const [i, layer] of net.layers.entries()) {
    const of = (name) => inputs[`${i}.${name}`];
    const { query, key, value, output } = layer.attention;
    for (const [dense, letter] of [
      [query, 'q'],
      [key, 'k'],
      [value, 'v'],
      [output, 'o'],
    ]) {
      // prettier-ignore
      assignDense(dense, of(`w${letter}`), of(`b${letter}`));
    }
    assignDense(layer.inner, of('w1'), of('b1'));
    assignDense(layer.outer, of('w2'), of('b2'));
    assignNorm(layer.attentionNorm, of('gamma1'), of('beta1'));
    assignNorm(layer.innerNorm, of('gamma2'), of('beta2'));
  }
  assignNorm(net.norm, inputs.gamma, inputs.beta);
  assignDense(net.scores, inputs.w, inputs.b);
  return net;
}

class Convolutional extends nn.HybridBlock {
  constructor(channels, classes) {
    super();
    this.convolutions = channels.map((count) => new nn.Conv2d(count, 3, { padding: 1 }));
    this.pool = new nn.MaxPool2d(2);
    this.scores = new nn.Dense(classes, { flatten: true });
  }

  forward(x) {
    const pooled = (value, layer) => this.pool.call(layer.call(value).relu());
    return this.scores.call(this.convolutions.reduce(pooled, x));
  }
}

function convolutional(inputs, { sizes: { channels, classes } }) {
  const net = new Convolutional(channels.slice(1), classes).initialize();
  net.call(array(inputs.x));
  for (const [i, layer] of net.convolutions.entries()) {
    layer.weight.assign(array(inputs[`w${i}`]));
    layer.bias.assign(array(inputs[`b${i}`]));
  }
  assignDense(net.scores, inputs.w2, inputs.b2);
  return net;
}

export const kinds = {
  transformerStep: stepForms(transformer),
  convolutionalStep: stepForms(convolutional),
};
