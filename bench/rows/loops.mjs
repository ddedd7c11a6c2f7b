// What a loop costs beside its work: an iteration, its compilation, the memory of training.
import { coldRun } from '../cold/run.mjs';
import { input } from '../harness/data.mjs';

const section = 'Loops';

/** A recurrence of two scalars, so that nothing but the loop takes time. */
const whileRow = (iterations, rest) => ({
  section,
  kind: 'whileLoop',
  per: iterations,
  iterations,
  ...rest,
  build() {
    let expected = 0;
    for (let n = 0; n < iterations; n++) {
      expected = Math.fround(Math.fround(expected * Math.fround(0.999)) + 1);
    }
    return { reference: Float64Array.of(expected) };
  },
});

const whileRows = [
  whileRow(1_000_000, {
    title: 'whileLoop, scalar body, one iteration',
    unit: 'ns',
    needsCpu: true,
    targets: [
      { who: 'kaon wasm', most: 50 },
      { who: 'kaon native', most: 20 },
    ],
  }),
  // An iteration is a launch and a wait there.
  whileRow(1000, {
    title: 'whileLoop on a GPU, scalar body, one iteration',
    unit: 'us',
    needsGpu: true,
  }),
];

const [steps, width] = [1000, 64];

/** A state of 64 numbers, multiplied by a matrix and squashed at each step. */
const runRow = {
  section,
  title: `foreach against unrolled, ${steps} steps`,
  kind: 'recurrence',
  unit: 'ms',
  kaonOnly: true,
  operations: 2 * steps * width ** 2,
  build() {
    const [x, w] = [input([steps, width], 1), input([width, width], 2, 1 / 8)];
    let h = new Float64Array(width);
    for (let t = 0; t < steps; t++) {
      h = h.map((_, j) => {
        let sum = x.data[t * width + j];
        for (let i = 0; i < width; i++) sum += h[i] * w.data[i * width + j];
        return Math.tanh(sum);
      });
    }
    return { inputs: { x, w }, reference: h };
  },
};

/** The time that it takes to trace and compile a loop must not depend on how long it runs. */
const compileRow = {
  section,
  title: 'foreach against unrolled, trace and compile',
  kind: 'recurrenceCompile',
  unit: 'ms',
  width,
  kaonOnly: true,
  // Native code comes later, from a compiler or from the cache: neither says anything about ours.
  tiers: ['wasm'],
  rounds: 3,
  targets: [{ who: 'kaon wasm foreach 10000 ', than: 'kaon wasm foreach 10 ', times: 0.5 }],
};

/** The states of the LSTM that trains: two of 16 x 128 floats, which no policy can do without. */
const carried = (2 * 4 * 16 * 128) / 1024;
const [short, long] = [50, 200];

/** How the memory of training grows with the number of steps, for each `save` and for the unrolled loop. */
const memoryRow = {
  section,
  title: 'memory of LSTM training, a step of time',
  unit: 'KB',
  rounds: 1,
  // A little more than the states: what is counted is whole vectors of whole steps.
  targets: [{ who: 'kaon none', most: carried * 1.5 }],
  entries: ({ options }) =>
    ['none', 'auto', 'all', 'unrolled'].map((form) => ({
      name: `kaon ${form}`,
      technology: 'wasm',
      warm: false,
      round: async () => {
        const measured = (count) => coldRun('training-memory.mjs', [form, count], options);
        const [few, many] = [await measured(short), await measured(long)];
        return (many.bytes - few.bytes) / (long - short) / 1024;
      },
    })),
};

/** Rows of a matrix that satisfy a condition, transformed and summed: sizes that the data decides. */
const maskedRow = {
  section,
  title: 'masked pipeline, 20000 x 16',
  kind: 'maskedPipeline',
  unit: 'ms',
  kaonOnly: true,
  build() {
    const [count, columns] = [20_000, 16];
    const x = input([count, columns], 1);
    const sums = new Float64Array(columns);
    for (let at = 0; at < x.data.length; at += columns) {
      const row = x.data.subarray(at, at + columns);
      if (row.reduce((sum, value) => sum + value, 0) <= 0) continue;
      row.forEach((value, i) => (sums[i] += Math.tanh(value * 2 + 1) * value));
    }
    return { inputs: { x }, reference: sums };
  },
};

export const rows = [...whileRows, runRow, compileRow, memoryRow, maskedRow];
