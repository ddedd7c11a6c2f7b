import { type DType, isFloat } from '../../src/base/dtype.js';
import { readElement, writeElement } from '../../src/base/element.js';
import { InternalError } from '../../src/base/errors.js';
import type { Program } from '../../src/ir/program.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import { isInexact } from '../fuzz/facts.js';
import { generator, type SampleCase } from '../support/samples.js';

/*
 * How far apart two right results may be. Whatever computes a program rounds as the interpreter does, but
 * for two things (decision 28): the order in which sums and products of many are built, and whether what is
 * added was rounded before. Operators that do neither give the same bits everywhere.
 *
 * For the others: a sum of n terms, in any order, is the exact sum of terms that are each off by n roundings
 * u at most, and a product among them by one more (Higham, "Accuracy and Stability of Numerical Algorithms",
 * 2002, 3.1 and 4.2). So two right results are apart by twice what terms do to them that are off by
 * (n + 1) u. For sums of products that is known; elsewhere it is measured. Folds round no term more often than
 * decision 45 says, however many there are.
 */

const mostRoundingsOfFolds = 16;

/** Families that add up by folds, but for these, which multiply, or add up products. */
const foldingFamilies = new Set(['reduction', 'normalization']);
const otherwise = new Set(['prod', 'cumprod', 'recurrence', 'attention', 'attentionGradient']);
/** Contractions that divide their sums: an average of ones is one, of however many. */
const averages = new Set(['avgPool', 'adaptiveAvgPool']);

/** By how much each element may be off; null where all have the same bits. */
export type Margin = readonly number[] | null;

/** What every element of every output may be off by. */
export function marginsOf(
  { declaration: { name, family } }: SampleCase,
  program: Program,
  operands: readonly Operand[],
): readonly Margin[] {
  if (!isInexact(name)) return program.outputs.map(() => null);
  const executable = compile(program, { target: 'interpreter' });
  const run = (given: readonly Operand[]): readonly Operand[] => executable.run(given);
  const isSumOfProducts = family === 'contraction' && !averages.has(name);
  if (isSumOfProducts) return marginsOfSums(run, operands);
  const isFolded = foldingFamilies.has(family) && !otherwise.has(name);
  return marginsByNoise(run, operands, isFolded ? mostRoundingsOfFolds : Infinity);
}

type Run = (operands: readonly Operand[]) => readonly Operand[];

/** Run on magnitudes, sums of products give the sum of all magnitudes; on ones, the number of products. */
function marginsOfSums(run: Run, operands: readonly Operand[]): readonly Margin[] {
  const magnitudes = run(operands.map((operand) => mapped(operand, Math.abs)));
  const counts = run(operands.map((operand) => mapped(operand, () => 1)));
  const rounding = roundingOf([...operands, ...magnitudes]);
  return magnitudes.map((sums, i) => {
    const [terms, count] = [valuesOf(sums), valuesOf(counts[i])];
    return terms.map((sum, k) => 2 * (count[k] + 1) * rounding * sum);
  });
}

/** How often operands are disturbed, and by how many roundings: far more than runs add of their own. */
const draws = 8;
const disturbance = 2 ** 10;

/**
 * Runs in which all operands are off at random show the norm of the derivatives, each times its operand: the
 * root of the mean square is the third part of it, by the variance of a uniform number. What all of the worst
 * signs together would make of it is the sum of the magnitudes, the root of their number times as much at
 * most. No result has more terms than there are operands. Factors that all terms share, such as the sum that
 * softmax divides by, are off by as many roundings as they have terms, `most` of them, and so is the result.
 */
export function marginsByNoise(
  run: Run,
  operands: readonly Operand[],
  most: number,
): readonly Margin[] {
  const expected = run(operands);
  const rounding = roundingOf([...operands, ...expected]);
  const random = generator(1);
  const noisy = (value: number): number =>
    value * (1 + disturbance * rounding * (2 * random() - 1));
  const squares = expected.map(({ storage }) => Array<number>(storage.length).fill(0));
  for (let draw = 0; draw < draws; draw++) {
    const moved = run(operands.map((operand) => mapped(operand, noisy)));
    moved.forEach((result, i) => {
      const [near, exact] = [valuesOf(result), valuesOf(expected[i])];
      near.forEach((value, k) => (squares[i][k] += (value - exact[k]) ** 2 / draws));
    });
  }
  const lengths = operands.map(({ storage }) => storage.length);
  const [terms, all] = [Math.min(most, Math.max(0, ...lengths)), lengths.reduce((a, b) => a + b, 0)]; // prettier-ignore
  return expected.map((result, i) =>
    valuesOf(result).map((value, k) => {
      const norm = Math.sqrt(3 * squares[i][k]) / disturbance;
      return 2 * (terms + 1) * (rounding * Math.abs(value) + Math.sqrt(all) * norm);
    }),
  );
}

/** How a result differs from what it should be, in words; null where it does not. */
export function differenceOf(actual: Operand, expected: Operand, margin: Margin): string | null {
  const [found, wanted] = [actual.storage, expected.storage];
  for (let k = 0; k < wanted.length; k++) {
    const [a, b] = [readElement(found.dtype, found.host, k), readElement(wanted.dtype, wanted.host, k)]; // prettier-ignore
    if (Object.is(a, b)) continue;
    const allowed = isFloat(wanted.dtype) ? (margin?.[k] ?? 0) : 0;
    // What is added up in another order is no other zero.
    if (a !== b && Math.abs(Number(a) - Number(b)) <= allowed) continue;
    return `element ${k} is ${String(a)}, not ${String(b)}; ${allowed} is allowed`;
  }
  return null;
}

/** The elements of floats through a function; what is no float stays. */
export function mapped(operand: Operand, fn: (value: number, index: number) => number): Operand {
  const { storage, shape } = operand;
  if (!isFloat(storage.dtype)) return operand;
  const home = storage.host.slice();
  for (let k = 0; k < home.length; k++) {
    writeElement(storage.dtype, home, k, fn(Number(readElement(storage.dtype, home, k)), k));
  }
  return { storage: new Storage(storage.dtype, home), shape };
}

export function valuesOf({ storage: { dtype, host } }: Operand): number[] {
  return Array.from({ length: host.length }, (_, k) => Number(readElement(dtype, host, k)));
}

const roundings: Readonly<Partial<Record<DType, number>>> = {
  float32: 2 ** -24,
  float64: 2 ** -53,
};

/** The coarsest of the roundings of floats. */
function roundingOf(operands: readonly Operand[]): number {
  const found = operands.flatMap(({ storage: { dtype } }) => {
    if (!isFloat(dtype)) return [];
    const rounding = roundings[dtype];
    if (rounding === undefined) throw new InternalError(`sums of ${dtype} have no margins yet`);
    return [rounding];
  });
  return Math.max(0, ...found);
}
