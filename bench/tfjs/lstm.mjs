import { computed, tensorWith } from './tensors.mjs';

/** The LSTM, unrolled: TF.js has no loop that compiles. */
export function lstmKinds(tf) {
  const tensor = tensorWith(tf);

  function lstm(x, w, u, b) {
    const [size] = u.shape;
    let [h, c] = [tf.zeros([x.shape[1], size]), tf.zeros([x.shape[1], size])];
    const outputs = [];
    for (const xt of tf.unstack(x)) {
      const gates = xt.matMul(w).add(h.matMul(u)).add(b);
      const [i, f, g, o] = tf.split(gates, 4, 1);
      c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
      h = o.sigmoid().mul(c.tanh());
      outputs.push(h);
    }
    return tf.stack(outputs);
  }

  const tensors = (inputs) => ['x', 'w', 'u', 'b', 'head'].map((name) => tensor(inputs[name]));

  const forward = (inputs) => {
    const [x, w, u, b] = tensors(inputs);
    return computed(tf, () => lstm(x, w, u, b));
  };

  const backward = (inputs) => {
    const [x, w, u, b, head] = tensors(inputs);
    const gradients = tf.grads((w, u, b) => lstm(x, w, u, b).mul(head).sum());
    const all = () => gradients([w, u, b]).map((grad) => grad.flatten());
    return computed(tf, () => tf.concat(all()));
  };

  return { lstmForward: { '': forward }, lstmBackward: { '': backward } };
}
