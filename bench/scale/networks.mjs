// Training steps that are timed: here, and as StableHLO beside the same steps written by hand in JAX (hand.py).
import { kn } from '../kaon.mjs';

const { autograd, nn, optim } = kn;

class Recurrent extends nn.HybridBlock {
  lstm = new nn.LSTM(128);
  head = new nn.Dense(10);

  forward(x) {
    const [outputs] = this.lstm.call(x);
    return this.head.call(outputs.slice(':', -1));
  }
}

/** Networks with the shape of their batches. */
const networks = {
  mlp: () => ({
    net: new nn.Sequential(
      new nn.Dense(512, { activation: 'relu' }),
      new nn.Dense(512, { activation: 'relu' }),
      new nn.Dense(10),
    ),
    x: kn.random.normal([128, 784]),
    y: kn.random.randint(0, 10, [128]),
  }),
  lstm: () => ({
    net: new Recurrent(),
    x: kn.random.normal([32, 64, 64]),
    y: kn.random.randint(0, 10, [32]),
  }),
  transformer: () => ({
    net: new nn.Sequential(
      new nn.Embedding(64, 64),
      new nn.TransformerEncoderLayer(64, 4, { dropout: 0, activation: 'relu' }),
      new nn.TransformerEncoderLayer(64, 4, { dropout: 0, activation: 'relu' }),
      new nn.LayerNorm(),
      new nn.Dense(64, { flatten: false }),
    ),
    x: kn.random.randint(0, 64, [16, 64]),
    y: kn.random.randint(0, 64, [16, 64]),
  }),
};

export const names = Object.keys(networks);

/** A captured step of SGD with momentum, and its batch. */
export function makeStep(name) {
  kn.random.seed(1);
  const { net, x, y } = networks[name]();
  net.initialize();
  net.call(x);
  const optimizer = new optim.SGD(net.parameters(), { learningRate: 0.01, momentum: 0.9 });
  const step = kn.hybridize(
    (batch) => {
      const loss = autograd.record(() =>
        nn.loss.softmaxCrossEntropy(net.call(batch.x), batch.y).mean(),
      );
      loss.backward();
      optimizer.step();
      return loss;
    },
    { tier: process.env.KAON_TIER ?? 'native' },
  );
  return { step, batch: { x: x.computed(), y: y.computed() } };
}
