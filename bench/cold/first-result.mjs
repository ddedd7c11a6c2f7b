// node bench/cold/first-result.mjs inference|training eager|compiled
// One cold start: the time from the first call of a network of 50 layers to its result, in a process that
// has run nothing before. Prints it with the result, and with what eager code gives for the same. The
// import of the library and the weights are not part of the time.
import { clock } from '../harness/clock.mjs';
import { randomData } from '../harness/data.mjs';
import { kn } from '../kaon.mjs';

const layers = 50;
/** Several sizes, so that not all layers are one kernel. */
const widths = [64, 96, 128, 80];
const batch = 32;

class Deep extends kn.nn.HybridBlock {
  layers = Array.from(
    { length: layers },
    (_, i) =>
      new kn.nn.Dense(widths[(i + 1) % widths.length], {
        inputs: widths[i % widths.length],
        activation: ['tanh', 'sigmoid', null][i % 3],
      }),
  );

  forward(x) {
    return this.layers.reduce((value, layer) => layer.call(value), x);
  }
}

function deepNet() {
  const net = new Deep();
  net.layers.forEach(({ weight, bias }, i) => {
    const [units, inputs] = weight.shape;
    const data = randomData(units * inputs, i + 1, 1.5 / Math.sqrt(inputs));
    weight.assign(kn.array(data, { shape: [units, inputs] }));
    bias.assign(randomData(units, i + 101, 0.1));
  });
  return net;
}

/** The work in one form, made but not yet called. */
function prepare(work, form) {
  const net = deepNet();
  const x = kn.array(randomData(batch * widths[0], 7), { shape: [batch, widths[0]] });
  if (work === 'inference') {
    if (form === 'compiled') net.hybridize();
    return () => net.call(x).dataSync();
  }
  const target = kn.array(randomData(batch * widths[layers % widths.length], 8), {
    shape: [batch, widths[layers % widths.length]],
  });
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.05 });
  const written = (u, t) => {
    const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(u), t));
    loss.backward();
    optimizer.step();
    return loss;
  };
  const step = form === 'compiled' ? kn.hybridize(written) : written;
  return () => {
    const loss = step(x, target).dataSync();
    // What the update has left counts as well; reading it is part of the result.
    return Float32Array.of(loss[0], ...net.layers[0].weight.value.dataSync().subarray(0, 16));
  };
}

const [work, form] = process.argv.slice(2);
const run = prepare(work, form);
const start = clock();
const result = run();
const milliseconds = clock() - start;
const reference = prepare(work, 'eager')();
console.log(JSON.stringify({ milliseconds, result: [...result], reference: [...reference] }));
