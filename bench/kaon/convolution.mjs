import { kn } from '../kaon.mjs';
import { array, computed, hybridize, hybridizeBlock } from './tier.mjs';

class ResidualBlock extends kn.nn.HybridBlock {
  constructor(channels) {
    super();
    const convolution = () => new kn.nn.Conv2d(channels, 3, { padding: 1, useBias: false });
    this.first = convolution();
    this.firstNorm = new kn.nn.BatchNorm();
    this.second = convolution();
    this.secondNorm = new kn.nn.BatchNorm();
  }

  forward(x) {
    const inner = this.firstNorm.call(this.first.call(x)).relu();
    return this.secondNorm.call(this.second.call(inner)).add(x).relu();
  }
}

function residualBlock(inputs) {
  const x = array(inputs.x);
  const block = new ResidualBlock(x.shape[1]).initialize();
  block.call(x); // makes the parameters
  const layers = [
    [block.first, block.firstNorm],
    [block.second, block.secondNorm],
  ];
  layers.forEach(([convolution, norm], i) => {
    convolution.weight.assign(array(inputs[`w${i}`]));
    norm.runningMean.assign(array(inputs[`mean${i}`]));
    norm.runningVariance.assign(array(inputs[`variance${i}`]));
    norm.gamma.assign(array(inputs[`gamma${i}`]));
    norm.beta.assign(array(inputs[`beta${i}`]));
  });
  hybridizeBlock(block);
  return computed(() => block.call(x));
}

function convolution(inputs) {
  const [x, w] = [array(inputs.x), array(inputs.w)];
  const f = hybridize((x, w) => kn.conv2d(x, w, { padding: 1 }));
  return computed(() => f(x, w));
}

export const kinds = {
  convolution: { captured: convolution },
  residualBlock: { captured: residualBlock },
};
