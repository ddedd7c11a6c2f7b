import type { DType } from '../../../base/dtype.js';
import { graphDirective } from '../../../base/directive.js';
import { ArgumentError, DTypeError, ShapeError, TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import { isArray } from '../../graphs/signature.js';
import { isCollecting, placesIn, standsFor } from './containers.js';
import { placeOf } from './host.js';

/* Errors for values that have to agree on several paths, and do not. */

/** Rules for the comparison of values with those of the first path. */
export interface Agreement {
  /** The path of the values, for errors. */
  readonly path: string;
  /** The path that they are compared with. */
  readonly other: string;
  /** True if sizes may differ; ranks may not. */
  readonly mayDiffer: boolean;
  /** True for states of a loop: what contradicts its contract is its error. */
  readonly isState: boolean;
  /** The place of the branch or loop. */
  readonly site: string;
}

/** Places of the arrays of a value, in order. */
export function leafPlaces(what: string, value: unknown): readonly string[] {
  if (isArray(value)) return [what];
  if (typeof value !== 'object' || value === null) return [];
  return placesIn(value).flatMap(([access, key]) =>
    leafPlaces(`${what}${access}`, (value as Record<string, unknown>)[key]),
  );
}

/** True for arrays, and for what holds some. */
function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isTree(value: unknown): value is object {
  return isNested(value) && !isArray(value);
}

/** The innermost place at which two values differ. */
export function firstDifference(
  what: string,
  first: unknown,
  second: unknown,
): readonly [place: string, first: unknown, second: unknown] {
  const isSameKind = isTree(first) && isTree(second) && Array.isArray(first) === Array.isArray(second); // prettier-ignore
  if (!isSameKind) return [what, first, second];
  for (const [access, key] of new Map([...placesIn(first), ...placesIn(second)])) {
    const [x, y] = [first, second].map((value) => (value as Record<string, unknown>)[key]);
    const isSame = Object.is(x, y) || (isArray(x) && isArray(y));
    if (isSame) continue;
    const found = firstDifference(`${what}${access}`, x, y);
    if (!isTree(found[1]) || !isTree(found[2])) return found;
  }
  return [what, first, second];
}

/** The error for values of a variable that differ at a place in it, where one of them is no array. */
export function differing(
  variable: string,
  [what, first, second]: ReturnType<typeof firstDifference>,
  { path, other, isState, site }: Agreement,
): TraceError | ArgumentError {
  const isPart = what !== variable && (first === undefined || second === undefined);
  if (isState && (isPart || (isNested(first) && isNested(second)))) {
    return new ArgumentError(`${what} changes its structure ${path}`, {
      op: graphDirective,
      expected: `${shown(first)}, as ${other}`,
      actual: shown(second),
      advice: 'keep the same nesting of lists and objects',
      ...placeOf(site),
    });
  }
  const isMissing = second === undefined || first === undefined;
  const problem = isMissing
    ? `${what} has no value ${second === undefined ? path : other}, and is used afterwards`
    : `${what} differs ${path}, and is no array`;
  return new TraceError(problem, {
    op: graphDirective,
    expected: isMissing ? 'a value on every path' : `${shown(first)}, as ${other}`,
    actual: isMissing ? 'undefined' : shown(second),
    advice: isMissing ? 'give it a value before, or null, and test for null afterwards' : 'let arrays, numbers and booleans depend on arrays only', // prettier-ignore
    ...placeOf(site),
  });
}

/** The error for an array of another dtype. */
export function otherDtype(
  what: string,
  expected: DType,
  actual: DType,
  { path, other, site }: Agreement,
): DTypeError {
  return new DTypeError(`${what} has another dtype ${path}`, {
    op: graphDirective,
    expected: `${expected}, as ${other}`,
    actual,
    advice: 'cast one of them',
    ...placeOf(site),
  });
}

/** The error for an array of another shape. */
export function otherShape(
  what: string,
  expected: TensorType,
  actual: TensorType,
  { path, other, site }: Agreement,
): ShapeError {
  return new ShapeError(`${what} has another shape ${path}`, {
    op: graphDirective,
    expected: `${typeToString(expected)}, as ${other}`,
    actual: typeToString(actual),
    advice: 'keep its shape: reduce it, or write into an array of fixed size',
    ...placeOf(site),
  });
}

function shown(given: unknown): string {
  const value = standsFor(given);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `the function ${value.name}`;
  if (isCollecting(value)) return 'a list that collects rows';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isArray(value)) return `an array, ${typeToString(value.type)}`;
  if (typeof value === 'object' && value !== null) {
    return `an object with ${Object.keys(value).join(', ') || 'no keys'}`;
  }
  return String(value);
}
