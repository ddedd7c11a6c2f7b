// Single operators and short chains of them.
import { kn } from '../kaon.mjs';
import { array, computed, hybridize, joined } from './tier.mjs';

const chain = (u, v) => u.mul(v).add(v).tanh().mul(u).sub(v);
const product = (a, b) => a.matmul(b);
const sum = (a, b) => a.add(b);

/** A function of arrays, run as it is written. */
const eager = (f) => (inputs) => {
  const arrays = Object.values(inputs).map(array);
  return computed(() => f(...arrays));
};
/** The same, captured. */
const captured = (f) => (inputs) => eager(hybridize(f))(inputs);
const both = (f) => ({ eager: eager(f), captured: captured(f) });

/** Elements of 16 bits. */
const half = (f) => (inputs) => {
  const arrays = Object.values(inputs).map((input) => array(input).cast('float16'));
  const run = hybridize(f);
  return {
    run: () => run(...arrays),
    result: () =>
      run(...arrays)
        .cast('float32')
        .data(),
  };
};

/** The loss and the gradient by the scores, times the number of rows, as one program. */
function crossEntropy({ x, labels }) {
  const step = hybridize((scores, target) =>
    kn.valueAndGrad((s) => kn.nn.loss.softmaxCrossEntropy(s, target).mean())(scores),
  );
  const [scores, target] = [array(x), array(labels)];
  const [rows] = x.shape;
  return {
    run: () => step(scores, target),
    result: async () => {
      const [loss, grad] = step(scores, target);
      return joined([await loss.data(), (await grad.data()).map((value) => value * rows)]);
    },
  };
}

export const kinds = {
  matmul: both(product),
  matmulHalf: { captured: half(product) },
  chainHalf: { captured: half(chain) },
  softmaxHalf: { captured: half((x) => kn.softmax(x, -1)) },
  chain: both(chain),
  eagerAdd: { '': eager(sum) },
  smallCall: both(sum),
  softmax: both((x) => kn.softmax(x, -1)),
  layerNorm: both((x, gamma, beta) => kn.layerNorm(x, gamma, beta)),
  meanAll: both((x) => x.mean()),
  sumRows: both((x) => x.sum(1)),
  sumColumns: both((x) => x.sum(0)),
  variance: both((x) => x.var(1)),
  norm: both((x) => kn.norm(x, 1)),
  attention: both((q, k, v) => kn.attention(q, k, v)),
  crossEntropy: { captured: crossEntropy },
};
