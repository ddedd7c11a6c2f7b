import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decodeSafetensors,
  encodeSafetensors,
  type FileTensor,
} from '../../src/formats/safetensors.js';
import { evaluateModule } from '../../src/formats/stablehlo/evaluate/evaluate.js';
import { fromFileTensor, toFileTensor } from '../../src/nn/persistence.js';
import * as kn from '../../src/index.js';

/*
 * A job, read and run plainly: programs by the evaluator of StableHLO, files by their description. It says what a
 * player has to give, for losses and state alike.
 */

interface Argument {
  readonly name: string;
  readonly dtype: kn.DType;
  readonly shape: readonly number[];
  readonly kind: 'input' | 'array' | 'random' | 'number';
  readonly next: string | null;
}

interface Program {
  readonly file: string;
  readonly meta: { readonly inputs: readonly Argument[]; readonly outputs: readonly Argument[] };
}

interface Data {
  readonly files: readonly string[];
  readonly feeds: Readonly<Record<string, string>>;
}

export interface Job {
  readonly programs: {
    readonly step: Program;
    readonly init?: Program;
    readonly evaluate?: Program;
  };
  readonly state: string | null;
  readonly data: Data;
  readonly evaluateData?: Data;
  readonly evaluateEvery?: number;
  readonly batch: number;
  readonly batchAxes: Readonly<Record<string, number>>;
  readonly steps: number;
  readonly mesh?: Readonly<Record<string, number>>;
  readonly rules: readonly unknown[];
  readonly schedule?: Readonly<Record<string, readonly number[]>>;
  readonly checkpoint: { readonly every: number; readonly keep: number };
  readonly seed: number;
  readonly metrics: readonly string[];
}

export const readJob = (folder: string): Job =>
  JSON.parse(readFileSync(join(folder, 'job.json'), 'utf8')) as Job;

const tensorsIn = (folder: string, file: string): ReadonlyMap<string, FileTensor> =>
  decodeSafetensors(readFileSync(join(folder, file))).tensors;

/** Splitmix64, as Steele, Lea and Flood give it: numbers of [0, 1) with 53 bits. */
function generator(seed: bigint): () => number {
  const word = (value: bigint): bigint => value & 0xffffffffffffffffn;
  let state = word(seed);
  return () => {
    state = word(state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) * 2 ** -53;
  };
}

/** The examples of each batch of a job, in order. */
export function batchesOf(seed: number, count: number, batch: number, steps: number): number[][] {
  const found: number[][] = [];
  for (let epoch = 0; found.length < steps; epoch++) {
    const next = generator((BigInt(seed) << 32n) + BigInt(epoch));
    const order = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = Math.floor(next() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    for (let at = 0; at + batch <= count; at += batch) found.push(order.slice(at, at + batch));
  }
  return found.slice(0, steps);
}

/** Examples by input, all files joined. */
function examplesOf(folder: string, { files, feeds }: Data): Readonly<Record<string, kn.NDArray>> {
  const parts = files.map((file) => tensorsIn(folder, file));
  return Object.fromEntries(
    Object.entries(feeds).map(([name, column]) => [
      name,
      kn.concat(
        parts.map((tensors) => fromFileTensor(tensors.get(column)!)),
        0,
      ),
    ]),
  );
}

/** Batch of the examples with some numbers. */
export function feedOf(array: kn.NDArray, rows: readonly number[], axis: number): FileTensor {
  const batch = kn.take(array, rows, { axis: 0 });
  const order = batch.shape.map((_, k) => k).slice(1);
  order.splice(axis, 0, 0);
  return toFileTensor(batch.transpose(order).add(0).astype(array.dtype));
}

/** Runs a job to its end and writes what a player writes. */
export function runPlainly(folder: string): readonly Readonly<Record<string, number>>[] {
  const job = readJob(folder);
  const textOf = ({ file }: Program): string => readFileSync(join(folder, file), 'utf8');
  const state = new Map(job.state === null ? [] : tensorsIn(folder, job.state));
  const { init, step, evaluate } = job.programs;
  const run = (
    program: Program,
    feeds: ReadonlyMap<string, FileTensor>,
  ): ReadonlyMap<string, FileTensor> => {
    const args = program.meta.inputs.map(({ name }) => feeds.get(name) ?? state.get(name)!);
    const results = evaluateModule(textOf(program), args);
    return new Map(program.meta.outputs.map(({ name }, k) => [name, results[k]]));
  };
  if (init !== undefined) for (const [name, value] of run(init, new Map())) state.set(name, value);
  const examples = examplesOf(folder, job.data);
  const feedsOf = (rows: readonly number[], from = examples): Map<string, FileTensor> =>
    new Map(Object.entries(from).map(([name, array]) => [name, feedOf(array, rows, job.batchAxes[name])])); // prettier-ignore
  const metrics: Record<string, number>[] = [];
  const write = (entry: object): void => appendFileSync(join(folder, 'metrics.jsonl'), `${JSON.stringify(entry)}\n`); // prettier-ignore
  const [count] = Object.values(examples)[0].shape;
  for (const [k, rows] of batchesOf(job.seed, count, job.batch, job.steps).entries()) {
    const feeds = feedsOf(rows);
    for (const [name, table] of Object.entries(job.schedule ?? {})) {
      feeds.set(name, { dtype: 'float32', shape: [], data: Float32Array.of(table[k]) });
    }
    const results = run(step, feeds);
    for (const { name, next } of step.meta.inputs) if (next !== null) state.set(name, results.get(next)!); // prettier-ignore
    metrics.push(Object.fromEntries(job.metrics.map((name) => [name, Number(results.get(name)!.data[0])]))); // prettier-ignore
    write({ step: k + 1, kind: 'step', time: k, metrics: metrics[k] });
    if (evaluate === undefined || (k + 1) % job.evaluateEvery! !== 0) continue;
    const held = examplesOf(folder, job.evaluateData!);
    const [size] = Object.values(held)[0].shape;
    const all = Array.from({ length: size }, (_, i) => i);
    const found = run(evaluate, feedsOf(all, held));
    write({ step: k + 1, kind: 'evaluate', time: k, metrics: Object.fromEntries([...found].map(([name, { data }]) => [name, Number(data[0])])) }); // prettier-ignore
  }
  writeFileSync(join(folder, 'final.safetensors'), encodeSafetensors({ tensors: state, metadata: new Map() })); // prettier-ignore
  writeFileSync(
    join(folder, 'status.json'),
    JSON.stringify({ state: 'finished', step: job.steps }),
  );
  return metrics;
}
