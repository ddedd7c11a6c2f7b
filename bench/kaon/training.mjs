// Steps of training a network, in every form of running them.
import { device } from '../harness/device.mjs';
import { kn } from '../kaon.mjs';
import { array, hybridize, hybridizeBlock } from './tier.mjs';

/** The number in an array, by the shortest way to it. */
const numberIn =
  device === 'cpu' ? (array) => array.item() : async (array) => (await array.data())[0];

/** A training step: as it is written, with the network captured, or captured whole. */
function trainer(form, network, inputs, { rate, ...work }) {
  const net = network(inputs, work);
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
  return () => numberIn(step(x, labels));
}

const stepAs = (form, network) => (inputs, work) => ({
  run: trainer(form, network, inputs, work),
  async result() {
    const step = trainer(form, network, inputs, work);
    const losses = [];
    for (let k = 0; k < work.checked; k++) losses.push(await step());
    return losses;
  },
});

/** Forms of training what `network(inputs, case)` makes, a block whose scores the labels are held against. */
export const stepForms = (network) => ({
  'whole step': stepAs('whole', network),
  captured: stepAs('captured', network),
});

/** The same with code that runs as it is written. */
export const allStepForms = (network) => ({
  ...stepForms(network),
  eager: stepAs('eager', network),
});
