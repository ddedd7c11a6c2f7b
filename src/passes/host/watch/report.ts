import { boundsOf, type Dim, isStatic } from '../../../base/dim/index.js';
import type { DType, HostArray } from '../../../base/dtype.js';
import type { CallNode, Value } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { AcceptedElements, RefusedElement } from '../../../ops/declare/check.js';
import * as ops from '../../../ops/index.js';

/* Reports of invalid elements: one of presence, and one of the first of them. */

/** A call that may receive elements that it does not accept. */
export interface Watched {
  readonly call: CallNode;
  /** The type of the checked operand, in the dimensions of the call's program. */
  readonly type: TensorType;
  readonly accepted: AcceptedElements;
  /** The loops around the call, the innermost first: all of them once the whole program is watched. */
  readonly loops: readonly CallNode[];
  /** Number of all loops around it. */
  readonly depth: number;
}

/** Report about a call, and the join of the reports of several iterations. */
export interface Report {
  /** Its type for a call. */
  type(watched: Watched): { readonly dtype: DType; readonly shape: readonly number[] };
  /** The dtype in which it compares elements of a dtype. */
  elements(dtype: DType): DType;
  /** Report about the elements of one call, a vector of that dtype, inside of so many loops. */
  of(elements: Value, accepted: AcceptedElements, depth: number): Value;
  /** True where there is one: bool, rank 0. */
  isTold(report: Value): Value;
  /** Report of the iterations so far of a loop around the call and of one more. */
  join(before: Value, now: Value, watched: Watched): Value;
}

/** The dtypes whose elements are all of int32. */
const isNarrow: ReadonlySet<DType> = new Set(['bool', 'uint8', 'int8', 'int32']);

/** The dtype in which elements are compared: devices without int64 can look at int32. */
const compared = (dtype: DType): DType => (isNarrow.has(dtype) ? 'int32' : 'int64');

/** Report of presence: bool, rank 0. */
export const presenceReport: Report = {
  type: () => ({ dtype: 'bool', shape: [] }),
  elements: compared,
  of: (elements, accepted) => ops.any(foreign(elements, accepted)),
  isTold: (report) => report,
  join: (before, now) => ops.logicalOr(before, now),
};

/** Numbers of a report before the iterations: the greatest accepted element is among them unless it is known. */
const numbersIn = ({ most }: AcceptedElements): number => (most === null || isStatic(most) ? 2 : 3);

/**
 * Report of the first invalid element: its row-major position counted from 1, the element, the greatest
 * accepted one where that is not known, and the iterations of the loops around, from the innermost. The position is 0
 * where there is none, and the iterations are counted so far. Everything but the search is computed number by number,
 * so that it is one kernel.
 */
export const firstReport: Report = {
  type: ({ type: { dtype }, accepted, depth }) => ({
    dtype: compared(dtype),
    shape: [numbersIn(accepted) + depth],
  }),
  elements: compared,
  of: (given, accepted, depth) => {
    const most = numbersIn(accepted) === 2 ? [] : [ops.dimLike(given, accepted.most!)];
    const found = ops.cast(foreign(given, accepted), given.type.dtype);
    if (given.type.shape[0] === 1) {
      const only = ops.reshape(found, []);
      return toldIf(only, [only, ops.reshape(given, []), ...most], depth);
    }
    const elements = withOne(given);
    const [length] = elements.type.shape;
    const all = ops.dimLike(elements, length);
    // How many elements there are from it on: the first has most behind it. 0 where there is none.
    const rest = ops.max(ops.mul(withOne(found), ops.sub(all, places(elements, length))));
    const place = ops.sub(all, ops.maximum(rest, 1));
    return toldIf(rest, [ops.add(place, 1), ops.take(elements, place), ...most], depth);
  },
  isTold: (report) => ops.greater(ops.slice(report, 0), 0),
  join: (before, now, { accepted, loops }) => {
    const place = numbersIn(accepted) + loops.length;
    const isCount = ops.equal(places(before, before.type.shape[0]), place);
    const current = ops.where(isCount, before, now);
    const quiet = ops.add(before, ops.cast(isCount, before.type.dtype));
    const isNew = ops.greater(ops.slice(now, 0), 0);
    const isOld = ops.greater(ops.slice(before, 0), 0);
    return ops.where(isOld, before, ops.where(isNew, current, quiet));
  },
};

/** A report of these numbers if a count is not 0, else zeros. Loops put their iterations behind the numbers. */
function toldIf(count: Value, told: readonly Value[], depth: number): Value {
  const at = places(count, told.length + depth);
  const vector = told.reduceRight((rest, number, k) => ops.where(ops.equal(at, k), number, rest));
  return ops.where(ops.greater(count, 0), vector, 0);
}

/** The positions of a vector, in the dtype of `like`. */
function places(like: Value, length: Dim): Value {
  const { dtype } = like.type;
  return like.program.append(ops.iota.declaration, [], { length, start: 0, step: 1, dtype })[0];
}

/** A vector of integers that has an element: one with a zero behind its elements where it may have none. */
function withOne(elements: Value): Value {
  const { dtype, shape } = elements.type;
  if (boundsOf(shape[0]).min > 0) return elements;
  return ops.concat<Value>([elements, ops.zerosLike(elements, { dtype, shape: [1] })]);
}

/**
 * Index of the report that the program comes to first, of those of `firstReport`. Watched calls are in program order,
 * which is the order of execution only within one iteration of the loops around both.
 */
export function earliestReport(watched: readonly Watched[], reports: readonly HostArray[]): number {
  let found = -1;
  reports.forEach((report, k) => {
    if (Number(report[0]) === 0) return;
    if (found < 0 || isBefore(watched[k], report, watched[found], reports[found])) found = k;
  });
  return found;
}

/** True if a call reports in an earlier iteration than one that stands before it, of a loop around both. */
function isBefore(later: Watched, report: HostArray, other: Watched, first: HostArray): boolean {
  const [a, b] = [later.loops.length, other.loops.length];
  for (let depth = 1; depth <= Math.min(a, b); depth++) {
    // The outermost loop comes last.
    if (later.loops[a - depth] !== other.loops[b - depth]) return false;
    const [own, known] = [report[report.length - depth], first[first.length - depth]];
    if (own !== known) return own < known;
  }
  return false;
}

/** The element that `firstReport` tells of a watched call, and its iterations, from the innermost. */
export function firstReported(
  { type, accepted }: Watched,
  report: HostArray,
): { readonly refused: RefusedElement; readonly iterations: readonly number[] } {
  const [position, element, limit] = report.subarray(0, 3);
  const { most } = accepted;
  const refused = {
    element: Number(element),
    at: Number(position) - 1,
    shape: type.shape,
    most: most === null || isStatic(most) ? most : Number(limit),
  };
  return { refused, iterations: Array.from(report.subarray(numbersIn(accepted)), Number) };
}

function foreign(elements: Value, { least, most, except }: AcceptedElements): Value {
  const isBelow = ops.less(elements, least);
  const isOutside = most === null ? isBelow : ops.logicalOr(isBelow, ops.greater(elements, most));
  return except === null ? isOutside : ops.logicalAnd(isOutside, ops.notEqual(elements, except));
}
