// node bench/cold/training-memory.mjs all|auto|none|unrolled STEPS
// The memory that compiled programs work in while they train an LSTM over so many steps: forward and
// backward as one program, in a process that has run nothing else. Prints bytes.
import { randomData } from '../harness/data.mjs';
import { load } from '../dist.mjs';
import { kn } from '../kaon.mjs';

const { cpu } = await load('src/runtime/memory/device.js');

const [form, given] = process.argv.slice(2);
const steps = Number(given);
const [batch, inputs, size] = [16, 64, 128];

let most = 0;
const arena = cpu.arena.bind(cpu);
cpu.arena = (bytes) => {
  most = Math.max(most, bytes);
  return arena(bytes);
};

function cell(xt, h, c, w, u, b) {
  const [i, f, g, o] = kn.split(xt.matmul(w).add(h.matmul(u)).add(b), 4, -1);
  const next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
  return [o.sigmoid().mul(next.tanh()), next];
}

function loss(w, u, b, x) {
  let [h, c] = [kn.zeros([batch, size]), kn.zeros([batch, size])];
  if (form === 'unrolled') {
    for (let t = 0; t < steps; t++) [h, c] = cell(x.slice(t), h, c, w, u, b);
    return h.sum();
  }
  const [, [last]] = kn.foreach((xt, [h, c]) => [[], cell(xt, h, c, w, u, b)], x, [h, c], {
    save: form,
  });
  return last.sum();
}

const array = (seed, ...shape) =>
  kn.array(randomData(shape.reduce((a, b) => a * b, 1), seed, 0.1), { shape }); // prettier-ignore
const step = kn.hybridize(kn.grad(loss, [0, 1, 2]));
const [w, u, b] = [array(1, inputs, 4 * size), array(2, size, 4 * size), array(3, 4 * size)];
const grads = step(w, u, b, array(4, steps, batch, inputs));
if (!grads.every((grad) => grad.dataSync().every(Number.isFinite))) throw new Error('no gradients');
console.log(JSON.stringify({ bytes: most }));
