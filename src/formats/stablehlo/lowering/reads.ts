import { addDim, boundsOf, type Dim, isStatic, mulDim, subDim } from '../../../base/dim/index.js';
import type { Shape } from '../../../ir/types.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { HloExpressions, HloSpread } from './expressions.js';
import type { SizeVariables } from './size-variables.js';
import { type HloValue, upTo } from '../language/types.js';
import { atLeastOne, type HloWriter } from '../language/writer.js';

/** `offset + scale * index` along an axis of the result; a constant has scale 0. */
interface Affine {
  readonly axis: number;
  readonly scale: number;
  readonly offset: Dim;
}

/** A result whose elements are computed from those of operands. */
export interface ReadContext {
  readonly hlo: HloWriter;
  /** The shape of the result. */
  readonly space: Shape;
  /** The index of the result element. */
  readonly index: readonly Expr[];
  readonly extents: SizeVariables;
  readonly expressions: HloExpressions;
}

/**
 * The elements of an operand at an index that depends on the result's index: as slices, reversals and transpositions
 * where the index is linear, else as a gather along the axes where it is not. Axes that are read at the result's own
 * index stay axes, so that arrays divided along them stay divided.
 */
export function readAt(context: ReadContext, x: HloValue, at: readonly Expr[]): HloSpread {
  const { hlo, space } = context;
  const forms = at.map((expr) => affineOf(expr, context));
  const used = new Map<number, number>();
  const start: Dim[] = x.shape.map(() => 0);
  const stop = [...x.shape];
  const step = x.shape.map(() => 1);
  const reversed: number[] = [];
  /** By axis of the operand: the axis of the result, null where it is dropped, the index where it is gathered. */
  const targets = forms.map((form, k): number | null | Expr => {
    if (form === null) return at[k];
    const { axis, scale, offset } = form;
    if (scale === 0) {
      [start[k], stop[k]] = [offset, addDim(offset, 1)];
      return null;
    }
    const extent = space[axis];
    const last = addDim(offset, mulDim(scale, subDim(extent, 1)));
    const [first, end] = scale > 0 ? [offset, addDim(last, 1)] : [last, addDim(offset, 1)];
    const isInside = isAtLeast(first, 0) && isAtLeast(x.shape[k], end);
    if (!isInside || used.has(axis)) return at[k];
    used.set(axis, k);
    [start[k], stop[k], step[k]] = [first, end, Math.abs(scale)];
    if (scale < 0 && extent !== 1) reversed.push(k);
    return axis;
  });
  const part = hlo.reverse(hlo.slice(x, start, stop, step), reversed);
  const kept = targets.filter((target) => target !== null);
  const dense = hlo.reshape(part, part.shape.filter((_, k) => targets[k] !== null)); // prettier-ignore
  if (kept.every((target) => typeof target === 'number')) return ordered(hlo, dense, kept);
  return gathered(context, dense, kept);
}

/** True when a size is provably no less than another one. */
function isAtLeast(a: Dim, b: Dim): boolean {
  return boundsOf(subDim(a, b)).min >= 0;
}

/** Axes in ascending order. */
function ordered(hlo: HloWriter, x: HloValue, axes: readonly number[]): HloSpread {
  const order = upTo(axes.length).toSorted((a, b) => axes[a] - axes[b]);
  return { value: hlo.transpose(x, order), axes: order.map((k) => axes[k]) };
}

/** Reads by indices along the axes whose target is an expression. */
function gathered(
  { hlo, space, expressions }: ReadContext,
  x: HloValue,
  targets: readonly (number | Expr)[],
): HloSpread {
  const indices = targets.map((target) =>
    typeof target === 'number' ? null : expressions.write(target),
  );
  const varying = new Set(indices.flatMap((written) => written?.axes ?? []));
  // Free axes come in the order of the result, which gathers do not change.
  const isFree = (k: number): boolean => typeof targets[k] === 'number' && !varying.has(targets[k]);
  const free = upTo(targets.length).filter(isFree).toSorted((a, b) => Number(targets[a]) - Number(targets[b])); // prettier-ignore
  const order = [...upTo(targets.length).filter((k) => !isFree(k)), ...free];
  const operand = hlo.transpose(x, order);
  const places = order.map((k) => ({ target: targets[k], written: indices[k] }));
  const along = [...varying].sort((a, b) => a - b);
  const isBatch = ({ target }: (typeof places)[number]): boolean => typeof target === 'number' && varying.has(target); // prettier-ignore
  const batch = upTo(places.length).filter((k) => isBatch(places[k]));
  const searched = upTo(places.length).filter((k) => places[k].written !== null);
  const outer = along.map((axis) => space[axis]);
  const columns = searched.map((k) => {
    const column = expressions.along(places[k].written!, along);
    return hlo.reshape(hlo.convert(column, 'int32'), [...outer, 1]);
  });
  const axes = [...along, ...free.map((k) => Number(targets[k]))].sort((a, b) => a - b);
  const offsets = upTo(axes.length).filter((k) => !varying.has(axes[k]));
  const batchInIndices = batch.map((k) => along.indexOf(Number(places[k].target)));
  const sizes = operand.shape.map((extent, k) => (k < order.length - free.length ? 1 : extent));
  const shape = axes.map((axis) => space[axis]);
  const indexed = hlo.concat(columns, along.length);
  const axesOf = { offsets, searched, batch, batchInIndices };
  return { value: gatheredFrom(hlo, operand, indexed, sizes, shape, axesOf), axes };
}

/** Meaning of the axes of a gather, whose indices have their coordinates along the last axis. */
export interface GatherAxes {
  /** Axes of the result that are axes of the operand. */
  readonly offsets: readonly number[];
  /** Axes of the operand along which elements are found by index. */
  readonly searched: readonly number[];
  /** Axes of the operand that go along with axes of the indices. */
  readonly batch: readonly number[];
  readonly batchInIndices: readonly number[];
}

/**
 * Blocks of given sizes at indices. Axes along which single elements are read may turn out to be empty: nothing is read
 * then.
 */
export function gatheredFrom(
  hlo: HloWriter,
  x: HloValue,
  indices: HloValue,
  sizes: Shape,
  shape: Shape,
  { offsets, searched, batch, batchInIndices }: GatherAxes,
): HloValue {
  const numbers = dimensionNumbers('gather', {
    offset_dims: offsets,
    collapsed_slice_dims: searched,
    operand_batching_dims: batch,
    start_indices_batching_dims: batchInIndices,
    start_index_map: searched,
    index_vector_dim: indices.shape.length - 1,
  });
  const outer = upTo(shape.length).filter((axis) => !offsets.includes(axis));
  const paired = batchInIndices.map((axis) => outer[axis]);
  const widened = shape.map((extent, axis) => (paired.includes(axis) ? atLeastOne(extent) : extent)); // prettier-ignore
  const made = hlo.gather(
    hlo.withoutEmptyAxes(x, [...searched, ...batch]),
    hlo.withoutEmptyAxes(indices, batchInIndices),
    sizes,
    widened,
    { dimension_numbers: numbers },
  );
  return hlo.slice(made, shape.map(() => 0), shape); // prettier-ignore
}

/** The attribute that says what the axes of an operation mean; empty lists are left out. */
export function dimensionNumbers(
  kind: 'gather' | 'scatter' | 'dot',
  entries: Readonly<Record<string, readonly number[] | number>>,
): string {
  const text = Object.entries(entries)
    .filter(([, value]) => typeof value === 'number' || value.length > 0)
    .map(([name, value]) => `${name} = ${typeof value === 'number' ? value : `[${value.join(', ')}]`}`); // prettier-ignore
  return `#stablehlo.${kind}<${text.join(', ')}>`;
}

/** An index as a linear function of one axis of the result's index; null when it is none. */
function affineOf(expr: Expr, context: ReadContext): Affine | null {
  const axis = context.index.indexOf(expr);
  if (axis >= 0) return { axis, scale: 1, offset: 0 };
  const size = context.extents.dimOf(expr);
  if (size !== null) return { axis: 0, scale: 0, offset: size };
  if (expr.kind === 'unary' && expr.op === 'neg') {
    const x = affineOf(expr.x, context);
    return x && { axis: x.axis, scale: -x.scale, offset: mulDim(x.offset, -1) };
  }
  if (expr.kind !== 'binary') return null;
  const [a, b] = [affineOf(expr.a, context), affineOf(expr.b, context)];
  if (a === null || b === null) return null;
  const { axis: first } = a.scale === 0 ? b : a;
  if (expr.op === 'mul') {
    const [x, { scale, offset: factor }] = a.scale === 0 ? [b, a] : [a, b];
    if (scale !== 0 || (!isStatic(factor) && x.scale !== 0)) return null;
    return {
      axis: first,
      scale: isStatic(factor) ? x.scale * factor : 0,
      offset: mulDim(x.offset, factor),
    };
  }
  if ((expr.op !== 'add' && expr.op !== 'sub') || (a.scale !== 0 && b.scale !== 0 && a.axis !== b.axis)) return null; // prettier-ignore
  const sign = expr.op === 'add' ? 1 : -1;
  return {
    axis: first,
    scale: a.scale + sign * b.scale,
    offset: addDim(a.offset, mulDim(b.offset, sign)),
  };
}
