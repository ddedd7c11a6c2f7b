import type { Attribute, Json } from '../../base/attributes/attribute.js';
import * as attr from '../../base/attributes/attribute.js';
import {
  addDim,
  ceilDivDim,
  type Dim,
  elementCount,
  isStatic,
  maxDim,
  minDim,
  mulDim,
  sameDim,
  subDim,
} from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  atLeast,
  type Refusal,
  type Require,
  requireNow,
  type MessageTemplate,
  words,
} from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';
import { shapeToString } from '../declare/infer.js';

/** Meaning of the indices of `slice`, also for symbolic extents. */

/** A normalized index: one index, a new axis, all remaining axes, or `[start, stop, step]`. */
export type SliceEntry = Dim | null | '...' | readonly [Dim | null, Dim | null, number];

const bound = attr.optional(attr.dim);

/** Attribute codec of an entry. A range is a list, so a dimension's text is never taken for `'...'`. */
export const sliceEntry: Attribute<SliceEntry> = {
  expected: "an integer, [start, stop, step], null or '...'",
  accepts: (value): value is SliceEntry =>
    value === '...' ||
    bound.accepts(value) ||
    (Array.isArray(value) &&
      value.length === 3 &&
      bound.accepts(value[0]) &&
      bound.accepts(value[1]) &&
      attr.int.accepts(value[2]) &&
      value[2] !== 0),
  encode: (entry) =>
    Array.isArray(entry)
      ? [bound.encode(entry[0]), bound.encode(entry[1]), entry[2]]
      : entry === '...'
        ? entry
        : bound.encode(entry as Dim | null),
  decode: (json) => {
    if (json === '...') return json;
    if (!Array.isArray(json)) return bound.decode(json);
    const [start, stop, step]: readonly Json[] = json;
    return [bound.decode(start), bound.decode(stop), attr.int.decode(step)];
  },
  mapDims: (entry, map) => {
    if (entry === null || entry === '...') return entry;
    if (!Array.isArray(entry)) return map(entry as Dim);
    const [start, stop, step] = entry as readonly [Dim | null, Dim | null, number];
    return [start === null ? null : map(start), stop === null ? null : map(stop), step];
  },
};

/** The indices `start + k * step` for `0 <= k < length`, all within the extent. */
export interface IndexRange {
  readonly start: Dim;
  readonly step: number;
  readonly length: Dim;
  /** Start and stop by Python's rules: negative ones count from the end, and null is an end. Absent for whole axes. */
  readonly written?: readonly [start: Dim | null, stop: Dim | null];
}

export interface Selection {
  /** The range of each axis of the operand; one index where the axis is dropped. */
  readonly ranges: readonly IndexRange[];
  /** For each axis of the result the operand's axis, or -1 for a new one. */
  readonly kept: readonly number[];
}

/** Applies indices to a shape; errors name `op`. Without `require`, symbolic extents are taken to be large enough. */
export function resolveIndices(
  op: string,
  shape: Shape,
  indices: readonly SliceEntry[],
  require: Require = requireNow,
): Selection {
  const used = indices.filter((entry) => entry !== null && entry !== '...').length;
  const ellipses = indices.filter((entry) => entry === '...').length;
  if (used > shape.length) {
    throw new ShapeError('there are more indices than axes', {
      op,
      expected: `at most ${shape.length}, for an array of shape ${shapeToString(shape)}`,
      actual: String(used),
    });
  }
  if (ellipses > 1) {
    throw new ArgumentError('only one index can stand for the remaining axes', {
      op,
      expected: "at most one '...'",
      actual: String(ellipses),
    });
  }
  const ranges: IndexRange[] = [];
  const kept: number[] = [];
  for (const entry of ellipses === 0 ? [...indices, '...' as const] : indices) {
    if (entry === null) kept.push(-1);
    else if (entry === '...') {
      for (let rest = shape.length - used; rest > 0; rest--) {
        kept.push(ranges.length);
        ranges.push({ start: 0, step: 1, length: shape[ranges.length] });
      }
    } else {
      const extent = shape[ranges.length];
      if (Array.isArray(entry)) {
        kept.push(ranges.length);
        ranges.push(resolveRange(extent, entry[0], entry[1], entry[2]));
      } else {
        const start = resolvePosition(op, extent, entry as Dim, ranges.length, require);
        const written = typeof entry === 'number' ? ([entry, entry === -1 ? null : entry + 1] as const) : undefined; // prettier-ignore
        ranges.push({ start, step: 1, length: 1, ...(written && { written }) });
      }
    }
  }
  return { ranges, kept };
}

/** Python's rules for `start:stop:step`, where null stands for an end. */
export function resolveRange(
  extent: Dim,
  start: Dim | null,
  stop: Dim | null,
  step: number,
): IndexRange {
  const [least, most]: [Dim, Dim] = step > 0 ? [0, extent] : [-1, subDim(extent, 1)];
  const within = (value: Dim | null, otherwise: Dim): Dim => {
    if (value === null) return otherwise;
    if (step > 0 && typeof value === 'number' && value < 0) return without(extent, -value);
    return maxDim(least, minDim(most, fromFront(value, extent)));
  };
  const from = within(start, step > 0 ? least : most);
  const to = within(stop, step > 0 ? most : least);
  const [front, back] = [start ?? 0, stop ?? 0];
  const isTrimmed = step > 0 && typeof front === 'number' && front >= 0 && typeof back === 'number' && (stop === null || back < 0); // prettier-ignore
  const span = isTrimmed ? without(extent, front - back) : step > 0 ? subDim(to, from) : subDim(from, to); // prettier-ignore
  const length = maxDim(0, ceilDivDim(span, Math.abs(step)));
  return { start: from, step, length, written: [start, stop] };
}

/**
 * An extent less some elements, or 0: in one form, so that `x[1:]`, `x[:-1]` and `x[1:-1]` of a symbolic extent have
 * sizes that agree where they are equal.
 */
function without(extent: Dim, count: number): Dim {
  return subDim(extent, minDim(count, extent));
}

function resolvePosition(
  op: string,
  extent: Dim,
  position: Dim,
  axis: number,
  require: Require,
): Dim {
  const at = fromFront(position, extent);
  const last = subDim(extent, 1);
  const outside = (expected: MessageTemplate): Refusal => ({
    error: 'argument',
    op,
    problem: words`index ${position} is outside axis ${axis}`,
    expected,
    actual: words`${position}`,
  });
  require(atLeast(extent, 1), () => outside(words`no index: the axis is empty`));
  const inside = (): Refusal => outside(words`an integer from -${extent} to ${last}`);
  require(atLeast(at, 0), inside);
  require(atLeast(last, at), inside);
  return maxDim(0, minDim(last, at));
}

function fromFront(value: Dim, extent: Dim): Dim {
  return typeof value === 'number' && value < 0 ? addDim(extent, value) : value;
}

/** A part of an array that has another shape. */
interface ShapedPart {
  /** The other shape of the array. */
  readonly whole: Shape;
  readonly indices: readonly SliceEntry[];
}

/**
 * The part of an array along one axis that has, in another shape, the elements of a part of the array: heads of attention
 * that are cut out of one product are then read where they lie. Null where the part does not begin and end between
 * elements of an axis of the other shape.
 */
export function partInShape(
  from: Shape,
  indices: readonly SliceEntry[],
  shape: Shape,
): ShapedPart | null {
  const { ranges, kept } = resolveIndices('slice', from, indices);
  const cut = ranges.flatMap(({ length }, axis) => (sameDim(length, from[axis]) ? [] : [axis]));
  const isInOrder = kept.length === from.length && kept.every((axis, place) => axis === place);
  if (cut.length !== 1 || !isInOrder || ranges.some(({ step }) => step !== 1)) return null;
  const [axis] = cut;
  const { start, length } = ranges[axis];
  const extent = from[axis];
  if (!isStatic(start) || !isStatic(length) || !isStatic(extent) || length === 0) return null;
  const [before, behind] = [from.slice(0, axis), from.slice(axis + 1)].map(elementCount);
  for (const [at, count] of shape.entries()) {
    if (!isStatic(count) || count === 0 || length % count !== 0) continue;
    // Elements of the axis in one of the other.
    const width = length / count;
    if (start % width !== 0 || extent % width !== 0) continue;
    const [outer, inner] = [shape.slice(0, at), shape.slice(at + 1)].map(elementCount);
    if (!sameDim(outer, before) || !sameDim(inner, mulDim(behind, width))) continue;
    const range: SliceEntry = [start / width, (start + length) / width, 1];
    return {
      whole: shape.with(at, extent / width),
      indices: shape.map((_, each) => (each === at ? range : ([0, null, 1] as const))),
    };
  }
  return null;
}
