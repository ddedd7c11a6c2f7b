// node bench/kernels/candidates.mjs [--software] [--dtype float16] 1024x1024x1024 64x784x256 ...
// The times of all candidates for products of these sizes (rows, terms, columns) on a GPU: what a tuner chooses among.
import { parseArgs } from 'node:util';
import { load } from '../dist.mjs';
import { microseconds, withDriver } from './gpu.mjs';

const { values, positionals } = parseArgs({
  options: {
    software: { type: 'boolean', default: false },
    dtype: { type: 'string', default: 'float32' },
  },
  allowPositionals: true,
});
withDriver(values.software);

/** Milliseconds for which a candidate is repeated, three times. */
const duration = 5;
const mostRounds = 32;

const [{ setUpWebGpu }, { DeviceQueue }, { TrialCall }, { matmul }] = await Promise.all(
  [
    'runtime/webgpu/setup.js',
    'runtime/device/queue.js',
    'runtime/webgpu/tuning/trial.js',
    'ops/index.js',
  ].map((path) => load(`src/${path}`)),
);
const backend = await setUpWebGpu();
const queue = new DeviceQueue(backend);

/** A target with a candidate for one kernel, and a list of what is asked. */
function targetWith(kernel, name, asked = new Map()) {
  const choose = ({ kernel: own, candidates }) => {
    asked.set(own, [...candidates.keys()]);
    return (own === kernel && candidates.get(name)) || [...candidates.values()][0];
  };
  return { ...backend.target, tuning: { choose } };
}

async function measure(call, kernel, name) {
  const start = performance.now();
  const trial = call.trial(targetWith(kernel, name));
  await trial.results();
  const first = performance.now() - start;
  let best = await backend.measure(trial.launch, 1);
  const rounds = Math.min(mostRounds, Math.ceil(duration / Math.max(best, 0.01)));
  for (let k = 0; k < 3; k++) best = Math.min(best, await backend.measure(trial.launch, rounds));
  return { name, best, first };
}

console.log(backend.adapter);
for (const text of positionals) {
  const [m, k, n] = text.split('x').map(Number);
  const shapes = [[m, k], [k, n]]; // prettier-ignore
  const operands = shapes.map((shape) => ({ dtype: values.dtype, shape, isTurned: false }));
  const call = new TrialCall({ operator: matmul.declaration, attributes: {}, operands }, queue);
  const asked = new Map();
  call.trial(targetWith(null, null, asked));
  for (const [kernel, names] of asked) {
    console.log(`\n${text} ${values.dtype}, ${kernel}; the usual one first`);
    for (const name of names) {
      const { best, first } = await measure(call, kernel, name);
      const rate = ((2 * m * k * n) / best / 1e6).toPrecision(4);
      console.log(`  ${name.padEnd(28)} ${microseconds(best).padStart(10)} ${rate.padStart(8)} GFLOP/s, first after ${first.toFixed(0)} ms`); // prettier-ignore
    }
  }
  call.release();
}
process.exit(0);
