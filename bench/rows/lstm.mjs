// An LSTM written as a loop over time: `foreach` against the same loop unrolled by hand, and the peers.
import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';
import { tf } from '../peers.mjs';
import { run as referenceRun, shape } from '../reference/lstm.mjs';

const { steps, batch, inputs, size } = shape;
const data = {
  x: randomData(steps * batch * inputs, 1),
  w: randomData(inputs * 4 * size, 2, 1 / Math.sqrt(inputs)),
  u: randomData(size * 4 * size, 3, 1 / Math.sqrt(size)),
  b: randomData(4 * size, 4, 0.1),
  head: randomData(steps * batch * size, 5),
};

function cell(xt, h, c, w, u, b) {
  const gates = xt.matmul(w).add(h.matmul(u)).add(b);
  const [i, f, g, o] = kn.split(gates, 4, -1);
  const next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
  return [o.sigmoid().mul(next.tanh()), next];
}

const start = () => [kn.zeros([batch, size]), kn.zeros([batch, size])];

/** The outputs of all steps, by `foreach`. */
function looped(x, w, u, b) {
  const [outputs] = kn.foreach(
    (xt, [h, c]) => {
      const [output, next] = cell(xt, h, c, w, u, b);
      return [output, [output, next]];
    },
    x,
    start(),
  );
  return outputs;
}

/** The same, unrolled. */
function unrolled(x, w, u, b) {
  let [h, c] = start();
  const outputs = [];
  for (let t = 0; t < steps; t++) {
    [h, c] = cell(x.slice(t), h, c, w, u, b);
    outputs.push(h);
  }
  return kn.stack(outputs);
}

const arrays = () => ({
  x: kn.array(data.x, { shape: [steps, batch, inputs] }),
  w: kn.array(data.w, { shape: [inputs, 4 * size] }),
  u: kn.array(data.u, { shape: [size, 4 * size] }),
  b: kn.array(data.b),
  head: kn.array(data.head, { shape: [steps, batch, size] }),
});

function kaonForward(lstm, captured) {
  const { x, w, u, b } = arrays();
  const f = captured ? kn.hybridize(lstm) : lstm;
  return () => f(x, w, u, b).dataSync();
}

/** The gradients of both weights and the bias, one after the other. */
function kaonBackward(lstm, captured) {
  const { x, w, u, b, head } = arrays();
  const gradients = kn.grad((w, u, b, x, head) => lstm(x, w, u, b).mul(head).sum(), [0, 1, 2]);
  const f = captured ? kn.hybridize(gradients) : gradients;
  return () => joined(f(w, u, b, x, head).map((grad) => grad.dataSync()));
}

function joined(parts) {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function tfLstm(x, w, u, b) {
  let [h, c] = [tf.zeros([batch, size]), tf.zeros([batch, size])];
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

function tfArrays() {
  return {
    x: tf.tensor3d(data.x, [steps, batch, inputs]),
    w: tf.tensor2d(data.w, [inputs, 4 * size]),
    u: tf.tensor2d(data.u, [size, 4 * size]),
    b: tf.tensor1d(data.b),
    head: tf.tensor3d(data.head, [steps, batch, size]),
  };
}

function tfForward() {
  const { x, w, u, b } = tfArrays();
  return () => tf.tidy(() => tfLstm(x, w, u, b).dataSync());
}

function tfBackward() {
  const { x, w, u, b, head } = tfArrays();
  const gradients = tf.grads((w, u, b) => tfLstm(x, w, u, b).mul(head).sum());
  return () => tf.tidy(() => joined(gradients([w, u, b]).map((grad) => grad.dataSync())));
}

function contestant(make) {
  return { run: make(), result: make() };
}

const reference = () => referenceRun(data.x, data.w, data.u, data.b, data.head);

export const rows = [
  {
    title: 'LSTM T=50 B=16 I=64 H=128, forward',
    build: async () => ({
      name: 'LSTM T=50 B=16 I=64 H=128, forward',
      unit: 'ms',
      reference: reference().outputs,
      against: 'TF.js',
      contestants: {
        'kaon foreach': contestant(() => kaonForward(looped, true)),
        'kaon unrolled': contestant(() => kaonForward(unrolled, true)),
        'kaon eager': contestant(() => kaonForward(looped, false)),
        'TF.js': tf === null ? null : contestant(tfForward),
      },
    }),
  },
  {
    title: 'LSTM T=50 B=16 I=64 H=128, forward and backward',
    build: async () => {
      const { w, u, b } = reference().grads;
      return {
        name: 'LSTM T=50 B=16 I=64 H=128, forward and backward',
        unit: 'ms',
        reference: Float64Array.from([...w, ...u, ...b]),
        against: 'TF.js',
        contestants: {
          'kaon foreach': contestant(() => kaonBackward(looped, true)),
          'kaon unrolled': contestant(() => kaonBackward(unrolled, true)),
          'kaon eager': contestant(() => kaonBackward(looped, false)),
          'TF.js': tf === null ? null : contestant(tfBackward),
        },
      };
    },
  },
];
