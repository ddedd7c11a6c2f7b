// An LSTM written as a loop over time: `foreach` against the same loop unrolled by hand.
import { kn } from '../kaon.mjs';
import { array, computed, hybridize, joined, unlessCompiled } from './tier.mjs';

function cell(xt, h, c, w, u, b) {
  const gates = xt.matmul(w).add(h.matmul(u)).add(b);
  const [i, f, g, o] = kn.split(gates, 4, -1);
  const next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
  return [o.sigmoid().mul(next.tanh()), next];
}

function beginning(x, u) {
  const shape = [x.shape[1], u.shape[0]];
  return [kn.zeros(shape), kn.zeros(shape)];
}

/** The outputs of all steps, by `foreach`. */
function looped(x, w, u, b) {
  const [outputs] = kn.foreach(
    (xt, [h, c]) => {
      const [output, next] = cell(xt, h, c, w, u, b);
      return [output, [output, next]];
    },
    x,
    beginning(x, u),
  );
  return outputs;
}

/** The same, unrolled. */
function unrolled(x, w, u, b) {
  let [h, c] = beginning(x, u);
  const outputs = [];
  for (let t = 0; t < x.shape[0]; t++) {
    [h, c] = cell(x.slice(t), h, c, w, u, b);
    outputs.push(h);
  }
  return kn.stack(outputs);
}

const forward = (lstm, wrap) => (inputs) => {
  const [x, w, u, b] = ['x', 'w', 'u', 'b'].map((name) => array(inputs[name]));
  const f = wrap(lstm);
  return computed(() => f(x, w, u, b));
};

/** The gradients by both weights and the bias of the outputs' sum, weighted by `head`. */
const backward = (lstm, wrap) => (inputs) => {
  const [w, u, b, x, head] = ['w', 'u', 'b', 'x', 'head'].map((name) => array(inputs[name]));
  const loss = (w, u, b, x, head) => lstm(x, w, u, b).mul(head).sum();
  const gradients = wrap(kn.grad(loss, [0, 1, 2]));
  const run = () => gradients(w, u, b, x, head);
  return { run, result: async () => joined(await Promise.all(run().map((grad) => grad.data()))) };
};

const forms = (direction) => ({
  foreach: direction(looped, hybridize),
  ...unlessCompiled({ unrolled: direction(unrolled, hybridize) }),
  eager: direction(looped, (f) => f),
});

export const kinds = { lstmForward: forms(forward), lstmBackward: forms(backward) };
