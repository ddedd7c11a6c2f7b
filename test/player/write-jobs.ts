// node write-jobs.js FOLDER: the steps of test/stablehlo/steps.ts as jobs, each with what Kaon's own run of it gives:
// `expected.json` has the losses, `expected.safetensors` the state after the last step.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOf, type HostArray, viewOf } from '../../src/base/dtype.js';
import { encodeSafetensors, type FileTensor } from '../../src/formats/safetensors.js';
import * as kn from '../../src/index.js';
import { toStableHlo } from '../../src/stablehlo.js';
import { batchAxes, trainingSteps } from '../stablehlo/steps.js';

type Arrays = Readonly<Record<string, kn.NDArray>>;

const seed = 5;
const rows = 16;
const mask64 = (1n << 64n) - 1n;

/** The generator splitmix64: numbers in [0, 1). */
function splitmix(start: bigint): () => number {
  let state = start & mask64;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask64;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask64;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask64;
    z ^= z >> 31n;
    return Number(z >> 11n) * 2 ** -53;
  };
}

/** Order of the examples in the first epoch of a job. */
function permutation(count: number): readonly number[] {
  const next = splitmix(BigInt(seed) << 32n);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

function tensorOf(array: kn.NDArray): FileTensor {
  const { host } = array.computed().storage;
  const size = array.shape.reduce((a, b) => a * b, 1);
  return { dtype: array.dtype, shape: array.shape, data: host.slice(0, size) as HostArray };
}

const fileOf = (tensors: Readonly<Record<string, FileTensor>>): Uint8Array =>
  encodeSafetensors({ tensors: new Map(Object.entries(tensors)), metadata: new Map() });

const stored = (arrays: Arrays): Record<string, FileTensor> =>
  Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, tensorOf(array)]));

/** Examples along axis 0 that the job's order takes as these batches, whose rows lie along `axis`. */
function examples(batches: readonly kn.NDArray[], axis: number): FileTensor {
  const parts = batches.map(tensorOf);
  const { dtype, shape } = parts[0];
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const count = rows * batches.length;
  const size = count * outer * inner;
  const data = viewOf(dtype, new ArrayBuffer(size * bytesOf(dtype)), 0, size);
  permutation(count).forEach((example, position) => {
    const part = parts[Math.floor(position / rows)].data;
    for (let o = 0; o < outer; o++) {
      const from = (o * rows + (position % rows)) * inner;
      data.set(part.subarray(from, from + inner) as never, (example * outer + o) * inner); // of the same dtype
    }
  });
  return { dtype, shape: [count, ...shape.slice(0, axis), ...shape.slice(axis + 1)], data };
}

function writeJob(
  folder: string,
  make: (typeof trainingSteps)[string],
  axes: Readonly<Record<string, number>>,
): void {
  kn.random.seed(3);
  const { step, batches } = make({});
  step(batches[0]);
  const graph = step.graphFor(batches[0]);
  const { text, meta, state } = toStableHlo(graph);
  const feeds = graph.inputNames;
  mkdirSync(join(folder, 'data'), { recursive: true });
  writeFileSync(join(folder, 'step.mlir'), text);
  writeFileSync(join(folder, 'state.safetensors'), fileOf(stored(state)));
  const data = Object.fromEntries(
    feeds.map((name) => [name, examples(batches.map((batch) => batch[name]), axes[name] ?? 0)]),
  ); // prettier-ignore
  writeFileSync(join(folder, 'data/examples.safetensors'), fileOf(data));
  const job = {
    version: 1,
    programs: { step: { file: 'step.mlir', meta } },
    state: 'state.safetensors',
    data: {
      kind: 'safetensors',
      files: ['data/*.safetensors'],
      feeds: Object.fromEntries(feeds.map((name) => [name, name])),
    },
    batch: rows,
    batchAxes: Object.fromEntries(feeds.map((name) => [name, axes[name] ?? 0])),
    steps: batches.length,
    checkpoint: { every: 1, keep: 3 },
    seed,
  };
  writeFileSync(join(folder, 'job.json'), JSON.stringify(job, null, 2));
  const losses = batches.map((batch) => Number(step(batch).item()));
  writeFileSync(join(folder, 'expected.json'), JSON.stringify({ losses }));
  writeFileSync(join(folder, 'expected.safetensors'), fileOf(stored(toStableHlo(graph).state)));
}

const [, , root] = process.argv;
for (const [name, make] of Object.entries(trainingSteps)) {
  writeJob(join(root, name.replaceAll(' ', '-')), make, batchAxes[name] ?? {});
}
