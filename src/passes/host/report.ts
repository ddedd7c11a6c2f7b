import { boundsOf } from '../../base/dim/index.js';
import type { DType, HostArray } from '../../base/dtype.js';
import type { CallNode, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { AcceptedElements, RefusedElement } from '../../ops/declare/check.js';
import * as ops from '../../ops/index.js';

/* Reports of invalid elements: one of presence, and one of the first of them. */

/** A call that may receive elements that it does not accept. */
export interface Watched {
  readonly call: CallNode;
  /** The type of the checked operand, in the dimensions of the call's program. */
  readonly type: TensorType;
  readonly accepted: AcceptedElements;
  /** The loops around the call, the innermost first. */
  readonly loops: readonly CallNode[];
}

/** Report about a call, and the join of the reports of several iterations. */
export interface Report {
  /** True if it tells iterations, which loops then count. */
  readonly countsIterations: boolean;
  /** Its type for a call, inside of the loops around it. */
  type(watched: Watched): { readonly dtype: DType; readonly shape: readonly number[] };
  /** The dtype in which it compares elements of a dtype. */
  elements(dtype: DType): DType;
  /** Report about the elements of one call, a vector of that dtype. */
  of(elements: Value, accepted: AcceptedElements): Value;
  /** True where there is one: bool, rank 0. */
  isTold(report: Value): Value;
  /** Report of the iterations so far and of an iteration by its number, an int32 array of one element. */
  join(before: Value, now: Value, iteration: () => Value): Value;
}

/** The dtypes whose elements are all of int32. */
const isNarrow: ReadonlySet<DType> = new Set(['bool', 'uint8', 'int8', 'int32']);

/** The dtype in which elements are compared: devices without int64 can look at int32. */
const compared = (dtype: DType): DType => (isNarrow.has(dtype) ? 'int32' : 'int64');

/** Report of presence: bool, rank 0. */
export const presenceReport: Report = {
  countsIterations: false,
  type: () => ({ dtype: 'bool', shape: [] }),
  elements: compared,
  of: (elements, accepted) => ops.any(foreign(elements, accepted)),
  isTold: (report) => report,
  join: (before, now) => ops.logicalOr(before, now),
};

/**
 * Report of the first invalid element: its row-major position counted from 1, the element, the greatest
 * accepted one, and the iterations of the loops around, from the innermost. Zeros where there is none.
 */
export const firstReport: Report = {
  countsIterations: true,
  type: ({ type: { dtype }, loops }) => ({ dtype: compared(dtype), shape: [3 + loops.length] }),
  elements: compared,
  of: (given, accepted) => {
    const { dtype } = given.type;
    const elements = withOne(given);
    const found = withOne(ops.cast(foreign(given, accepted), dtype));
    const [length] = elements.type.shape;
    const all = ops.dimLike(elements, length);
    const [places] = elements.program.append(ops.iota.declaration, [], {
      length,
      start: 0,
      step: 1,
      dtype,
    });
    // How many elements there are from it on: the first has most behind it. 0 where there is none.
    const rest = ops.max(ops.mul(found, ops.sub(all, places)));
    const isTold = ops.greater(rest, 0);
    const place = ops.sub(all, ops.maximum(rest, 1));
    const parts = [ops.add(place, 1), ops.take(elements, place), ops.dimLike(elements, accepted.most ?? 0)]; // prettier-ignore
    return ops.stack<Value>(parts.map((part) => ops.where(isTold, part, 0)));
  },
  isTold: (report) => ops.greater(ops.slice(report, 0), 0),
  join: (before, now, iteration) =>
    ops.where(
      ops.greater(ops.slice(before, 0), 0),
      before,
      ops.concat<Value>([now, ops.cast(iteration(), now.type.dtype)]),
    ),
};

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
    const [own, known] = [report[3 + a - depth], first[3 + b - depth]];
    if (own !== known) return own < known;
  }
  return false;
}

/** The element that `firstReport` tells of a watched call, and its iterations, from the innermost. */
export function firstReported(
  { type, accepted }: Watched,
  report: HostArray,
): { readonly refused: RefusedElement; readonly iterations: readonly number[] } {
  const [position, element, limit, ...iterations] = Array.from(report, Number);
  const most = accepted.most === null ? null : limit;
  return { refused: { element, at: position - 1, shape: type.shape, most }, iterations };
}

function foreign(elements: Value, { least, most, except }: AcceptedElements): Value {
  const isBelow = ops.less(elements, least);
  const isOutside = most === null ? isBelow : ops.logicalOr(isBelow, ops.greater(elements, most));
  return except === null ? isOutside : ops.logicalAnd(isOutside, ops.notEqual(elements, except));
}
