import type * as kn from '../../src/index.js';
import type { Arrays } from './shipped.js';

/** An array as a file gives it back. */
export interface Elements {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** What a run of a file has returned, by name. */
export type Results = Readonly<Record<string, Elements>>;

/**
 * What the order of additions may change in a float, beside the greatest element of its array: the unit
 * that errors are measured in. Everything else is exact.
 */
export const tolerance = 1e-5;

/** How far results are from what was expected. */
export interface Comparison {
  /** The greatest error in units of the tolerance; more than 1 is a difference. */
  readonly units: number;
  /** What differs, where something does. */
  readonly problem: string | null;
}

/** Compares all outputs of a run. */
export function compare(expected: Arrays, found: Results): Comparison {
  const all = Object.entries(expected).map(([name, array]) => {
    const { units, problem } = compareArray(array, found[name]);
    return { units, problem: problem === null ? null : `${name}: ${problem}` };
  });
  return all.reduce((worst, each) => (each.units > worst.units ? each : worst), {
    units: 0,
    problem: null,
  });
}

function compareArray(expected: kn.NDArray, found: Elements | undefined): Comparison {
  const wrong = (problem: string): Comparison => ({ units: Infinity, problem });
  if (found === undefined) return wrong('there is no such output');
  if (found.dtype !== expected.dtype) return wrong(`${found.dtype} instead of ${expected.dtype}`);
  if (String(found.shape) !== String(expected.shape)) {
    return wrong(`shape [${found.shape.join(', ')}] instead of [${expected.shape.join(', ')}]`);
  }
  const want = Array.from(expected.dataSync(), Number);
  const have = Array.from(found.data, Number);
  const greatest = want.reduce(
    (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    0,
  );
  const unit = expected.dtype.startsWith('float') ? tolerance * greatest : 0;
  let units = 0;
  let at = 0;
  want.forEach((value, i) => {
    const isSame = have[i] === value || (Number.isNaN(value) && Number.isNaN(have[i]));
    const error = isSame ? 0 : Math.abs(have[i] - value) / unit;
    // What is no number is as wrong as can be.
    const counted = Number.isNaN(error) ? Infinity : error;
    if (counted > units) [units, at] = [counted, i];
  });
  return units > 1 ? { units, problem: `element ${at} is ${have[at]} instead of ${want[at]}` } : { units, problem: null }; // prettier-ignore
}
