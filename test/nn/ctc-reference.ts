import * as kn from '../../src/index.js';

/*
 * Connectionist temporal classification by its definition: every sequence of classes is written down, and
 * those that spell the labels are counted. No dynamic programming, no logarithms.
 */

/** What a sequence of classes spells: repetitions once, then no blanks. */
export function spelled(path: readonly number[], blank: number): number[] {
  return path.filter((label, t) => label !== blank && label !== path[t - 1]);
}

export interface Expected {
  readonly loss: number;
  /** Of the logits: (time, classes). */
  readonly gradient: number[][];
}

/** The loss of one example and its gradient; a gradient of zeros where no path spells the labels. */
export function byEnumeration(
  logits: readonly (readonly number[])[],
  labels: readonly number[],
  blank: number,
  classes: number,
): Expected {
  const probabilities = logits.map((row) => {
    const powers = row.map(Math.exp);
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  });
  let total = 0;
  // For each step and class, the probability of the paths through it that spell the labels.
  const through = logits.map(() => Array.from({ length: classes }, () => 0));
  const path: number[] = [];
  const walk = (probability: number): void => {
    if (path.length < logits.length) {
      for (let label = 0; label < classes; label++) {
        const step = probabilities[path.length][label];
        path.push(label);
        walk(probability * step);
        path.pop();
      }
    } else if (String(spelled(path, blank)) === String(labels)) {
      total += probability;
      path.forEach((label, t) => (through[t][label] += probability));
    }
  };
  walk(1);
  const gradient = probabilities.map((row, t) =>
    row.map((p, label) => (total === 0 ? 0 : p - through[t][label] / total)),
  );
  return { loss: total === 0 ? Infinity : -Math.log(total), gradient };
}

export interface Batch {
  readonly logits: number[][][];
  readonly labels: number[][];
  readonly inputLengths: number[];
  readonly labelLengths: number[];
  readonly blank: number;
  readonly classes: number;
}

export interface Sizes {
  readonly batch: number;
  readonly time: number;
  readonly most: number;
  readonly classes: number;
  readonly blank: number;
}

/** Random logits, lengths and labels, repeated ones among them, with nonsense in the padding. */
export function randomBatch({ batch, time, most, classes, blank }: Sizes, seed: number): Batch {
  kn.random.seed(seed);
  const below = (end: number, count: number): number[] =>
    Array.from(kn.random.randint([count], { low: 0, high: end }).dataSync() as Int32Array, Number);
  const inputLengths = below(time + 1, batch);
  const labelLengths = below(most + 1, batch);
  const normal = kn.random.normal([batch, time, classes], { dtype: 'float64' });
  const values = normal.tolist() as number[][][];
  const labels = labelLengths.map((length) => {
    const row = below(classes - 1, most).map((label) => (label >= blank ? label + 1 : label));
    return row.map((label, k) => (k < length ? label : k % 2 === 0 ? -1 : 99));
  });
  const logits = values.map((rows, i) =>
    rows.map((row, t) => (t < inputLengths[i] ? row : row.map(() => (t % 2 === 0 ? NaN : 1e3)))),
  );
  return { logits, labels, inputLengths, labelLengths, blank, classes };
}

/** What `ctc` must give for each example, with zeros as the gradient of padding. */
export function expectedOf({ logits, labels, inputLengths, labelLengths, blank, classes }: Batch): {
  readonly losses: number[];
  readonly gradient: number[][][];
} {
  const each = logits.map((rows, i) => {
    const steps = rows.slice(0, inputLengths[i]);
    return byEnumeration(steps, labels[i].slice(0, labelLengths[i]), blank, classes);
  });
  return {
    losses: each.map(({ loss }) => loss),
    gradient: each.map(({ gradient }, i) =>
      logits[i].map((row, t) => gradient[t] ?? row.map(() => 0)),
    ),
  };
}

export const ints = (values: number | number[] | number[][]): kn.NDArray =>
  kn.array(values, { dtype: 'int32' });
export const flat = (x: kn.NDArray): number[] => Array.from(x.dataSync() as Float64Array);

/** Arrays of a batch; `shape` keeps the sizes of those without elements. */
export function arraysOf(
  { logits, labels }: Batch,
  { batch, time, most, classes }: Sizes,
): { readonly logits: kn.NDArray; readonly labels: kn.NDArray } {
  return {
    logits: kn.array(Float64Array.from(logits.flat(2)), { shape: [batch, time, classes] }),
    labels: kn.array(Int32Array.from(labels.flat()), { shape: [batch, most] }),
  };
}

/** The loss as a function of arrays only. */
export type Loss = (
  logits: kn.NDArray,
  labels: kn.NDArray,
  inputLengths: kn.NDArray,
  labelLengths: kn.NDArray,
) => kn.NDArray;
