// What a loop costs beside its work: an iteration, its compilation, the memory of training.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import * as kn from '../kaon.mjs';

const iterations = 1_000_000;

/** A recurrence of two scalars, so that nothing but the loop takes time. */
function whileRow() {
  const loop = kn.hybridize((i, x) => {
    const [, [, last]] = kn.whileLoop(
      (i) => i.less(iterations),
      (i, x) => [[], [i.add(1), x.mul(0.999).add(1)]],
      [i, x],
    );
    return last;
  });
  const [i, x] = [kn.array(0, { dtype: 'int32' }), kn.array(0)];
  let expected = 0;
  for (let n = 0; n < iterations; n++) {
    expected = Math.fround(Math.fround(expected * Math.fround(0.999)) + 1);
  }
  const run = () => loop(i, x).dataSync();
  return {
    name: 'whileLoop, scalar body, one iteration',
    unit: 'ns',
    reference: Float64Array.of(expected),
    scale: (ms) => (ms * 1e6) / iterations,
    contestants: { 'kaon whileLoop': { run, result: run } },
  };
}

const width = 64;

/** Milliseconds that it takes to trace and compile a loop over so many steps, beside running it. */
function compileTime(steps) {
  const x = kn.ones([steps, width]);
  const w = kn.full([width, width], 0.01);
  const loop = kn.hybridize((x, w) => {
    const [, h] = kn.foreach(
      (xt, h) => [[], h.expandDims(0).matmul(w).reshape([width]).add(xt).tanh()],
      x,
      kn.zeros([width]),
    );
    return h;
  });
  const [first, , again] = [0, 1, 2].map(() => {
    const start = performance.now();
    loop(x, w).dataSync();
    return performance.now() - start;
  });
  return first - again;
}

/** The time that it takes to trace and compile a loop must not depend on how long it runs. */
function compileRow(rounds) {
  const figures = {};
  const lengths = [10, 1000, 10_000];
  for (const steps of lengths) compileTime(steps);
  const times = new Map(lengths.map((steps) => [steps, []]));
  for (let round = 0; round < rounds; round++) {
    for (const steps of lengths) times.get(steps).push(compileTime(steps));
  }
  for (const [steps, list] of times) {
    list.sort((a, b) => a - b);
    const median = list[list.length >> 1];
    figures[`T = ${steps}`] = { best: list[0], median, noise: median / list[0] };
  }
  return { name: 'foreach, trace and compile', unit: 'ms', figures, note: '' };
}

/** Rows of a matrix that satisfy a condition, transformed and summed: sizes that the data decides. */
function maskedRow() {
  const rows = 20_000;
  const x = kn.random.normal([rows, 16]);
  const pipeline = (x) => {
    const kept = kn.booleanMask(x, x.sum(1).greater(0));
    return kept.mul(2).add(1).tanh().mul(kept).sum(0);
  };
  const captured = kn.hybridize(pipeline);
  const reference = Float64Array.from(pipeline(x).dataSync());
  return {
    name: 'masked pipeline, 20000 x 16',
    unit: 'ms',
    reference,
    against: 'kaon eager',
    contestants: {
      'kaon hybridized': {
        run: () => captured(x).dataSync(),
        result: () => captured(x).dataSync(),
      },
      'kaon eager': { run: () => pipeline(x).dataSync(), result: () => pipeline(x).dataSync() },
    },
  };
}

const memoryScript = fileURLToPath(new URL('../trainingmemory.mjs', import.meta.url));

function trainingBytes(form, steps) {
  const output = execFileSync(process.execPath, [memoryScript, form, String(steps)], {
    encoding: 'utf8',
  });
  return JSON.parse(output).bytes;
}

/** How the memory of training grows with the number of steps, for each `save` and for the unrolled loop. */
function memoryRow() {
  const [short, long] = [50, 200];
  const figures = {};
  const totals = [];
  for (const form of ['none', 'auto', 'all', 'unrolled']) {
    const [few, many] = [short, long].map((steps) => trainingBytes(form, steps));
    const kilobytes = (many - few) / (long - short) / 1024;
    figures[form] = { best: kilobytes, median: kilobytes, noise: 1 };
    totals.push(`${form} ${(many / 2 ** 20).toFixed(1)} MB`);
  }
  return {
    name: 'memory of LSTM training, a step of time',
    unit: 'KB',
    figures,
    note: `with ${long} steps: ${totals.join(', ')}`,
  };
}

export const rows = [
  { title: 'whileLoop, scalar body', build: async () => whileRow() },
  { title: 'foreach, trace and compile', build: async ({ rounds }) => compileRow(rounds) },
  { title: 'memory of LSTM training', build: async () => memoryRow() },
  { title: 'masked pipeline', build: async () => maskedRow() },
];
