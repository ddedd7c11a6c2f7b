import { addDim, boundsOf, type Dim, mulDim, elementCount } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { normalizeAxis } from '../declare/infer.js';
import type { OnnxCall, OnnxValue, OnnxWriter } from '../declare/onnx.js';

/* What operators whose data decides sizes or places have in common when they are written in ONNX. */

/** 0, 1, 2 and so on, int64. */
export function writeNumbers(onnx: OnnxWriter, count: Dim): OnnxValue {
  const [start, step] = [onnx.scalar('int64', 0), onnx.scalar('int64', 1)];
  return onnx.node('Range', [start, onnx.size(count), step]);
}

/** A filled array of a shape, with zeros or another element. */
function writeFilled(
  onnx: OnnxWriter,
  dtype: TensorType['dtype'],
  value: number,
  sizes: OnnxValue,
): OnnxValue {
  return onnx.node('Expand', [onnx.scalar(dtype, value), sizes]);
}

/** Indices of the true elements of a mask of rank 1, int64. */
export function writeMarked(onnx: OnnxWriter, mask: OnnxValue): OnnxValue {
  return onnx.node('Squeeze', [onnx.node('NonZero', [mask], {}, 'int64'), onnx.ints([0])]);
}

/**
 * Every index of `counts` (int64, rank 1), repeated `counts[i]` times, int64: all of them, or exactly `rows`.
 * Each count marks the start of its run; the running sum of the marks identifies the run.
 */
export function writeRepeated(
  onnx: OnnxWriter,
  counts: OnnxValue,
  length: Dim,
  rows: Dim | null,
): OnnxValue {
  const [zero, one] = [onnx.scalar('int64', 0), onnx.scalar('int64', 1)];
  const taken = onnx.node('Max', [counts, zero]);
  const total = onnx.reduce('ReduceSum', taken, [0], true);
  const room = rows === null ? total : onnx.sizes([rows]);
  const starts = onnx.node('Sub', [onnx.node('CumSum', [taken, zero]), taken]);
  const slots = writeFilled(onnx, 'int64', 0, onnx.node('Add', [room, one]));
  const ones = writeFilled(onnx, 'int64', 1, onnx.sizes([length]));
  const within = onnx.node('Min', [starts, room]);
  const marks = onnx.node('ScatterElements', [slots, within, ones], { axis: 0, reduction: 'add' });
  const sums = onnx.node('CumSum', [marks, zero]);
  const runs = onnx.node('Slice', [sums, onnx.ints([0]), room, onnx.ints([0])]);
  const positions = onnx.node('Sub', [runs, one]);
  if (rows === null) return positions;
  const isReal = onnx.node('Less', [writeNumbers(onnx, rows), total], {}, 'bool');
  return onnx.node('Where', [isReal, positions, zero]);
}

/** The leading `rows` elements; zero-padded where there are fewer. */
export function writeLeading(onnx: OnnxWriter, x: OnnxValue, rows: Dim): OnnxValue {
  const room = onnx.sizes([rows]);
  const long = onnx.node('Concat', [x, writeFilled(onnx, 'int64', 0, room)], { axis: 0 });
  return onnx.node('Slice', [long, onnx.ints([0]), room, onnx.ints([0])]);
}

/** Distinct rows in lexicographic order, int64. */
export interface DistinctRows {
  /** Index of the first occurrence. */
  readonly index: OnnxValue;
  /** Number of the distinct row that equals each row. */
  readonly inverse: OnnxValue;
  readonly counts: OnnxValue;
}

/**
 * The distinct rows of `x` (rank 2), by Unique. NaN is unequal to itself there, so each float is paired with
 * an is-NaN flag; and onnxruntime fails for rows of width 0, so none has it.
 */
export function writeDistinctRows(onnx: OnnxWriter, x: OnnxValue, type: TensorType): DistinctRows {
  const { dtype, shape } = type;
  const [length, width] = shape;
  const compared = isFloat(dtype) ? floatRows(onnx, x, type) : onnx.cast(x, 'int64');
  const isWide = boundsOf(width).min > 0;
  const kind = isFloat(dtype) ? (dtype === 'float64' ? dtype : 'float32') : 'int64';
  const column = (): OnnxValue => writeFilled(onnx, kind, 0, onnx.sizes([length, 1]));
  const rows = isWide ? compared : onnx.node('Concat', [compared, column()], { axis: 1 });
  const kinds = [null, 'int64', 'int64', 'int64'] as const;
  const [, index, inverse, counts] = onnx.nodes('Unique', [rows], { axis: 0, sorted: 1 }, kinds);
  return { index, inverse, counts };
}

function floatRows(onnx: OnnxWriter, x: OnnxValue, { dtype, shape }: TensorType): OnnxValue {
  const kind = dtype === 'float64' ? dtype : 'float32';
  const wide = onnx.cast(x, kind);
  const isNaN = onnx.node('IsNaN', [wide], {}, 'bool');
  const number = onnx.node('Where', [isNaN, onnx.scalar(kind, 0), wide]);
  const behind = (part: OnnxValue): OnnxValue => onnx.node('Unsqueeze', [part, onnx.ints([2])]);
  const pairs = onnx.node('Concat', [behind(onnx.cast(isNaN, kind)), behind(number)], { axis: 2 });
  return onnx.reshape(pairs, [shape[0], mulDim(shape[1], 2)]);
}

/** Start of a block along an axis, of rank 0. */
interface Place {
  readonly axis: number;
  readonly first: OnnxValue;
}

/** Starts of a block, with the semantics of `dynamicSlice`. */
export function writePlaces(
  { onnx, attributes: { axes } }: OnnxCall<{ readonly axes: readonly number[] }>,
  start: OnnxValue,
  startType: TensorType,
  shape: Shape,
  block: Shape,
): readonly Place[] {
  const zero = onnx.scalar('int64', 0);
  const wide = onnx.cast(start, 'int64');
  return axes.map((each, k) => {
    const axis = normalizeAxis('slice', each, shape.length);
    const raw = startType.shape.length === 0 ? wide : onnx.node('Gather', [wide, onnx.scalar('int64', k)], { axis: 0 }); // prettier-ignore
    const isCounted = onnx.node('Less', [raw, zero], {}, 'bool');
    const counted = onnx.node('Where', [isCounted, onnx.node('Add', [raw, onnx.size(shape[axis])]), raw]); // prettier-ignore
    const last = onnx.size(addDim(shape[axis], mulDim(block[axis], -1)));
    return { axis, first: onnx.node('Max', [onnx.node('Min', [counted, last]), zero]) };
  });
}

/** Number and size of rows when the leading axes are flattened. */
export function asRows(shape: Shape, leading: number): Shape {
  return [elementCount(shape.slice(0, leading)), ...shape.slice(leading)];
}

/**
 * An array of no elements whose leading sizes are the elements of `sizes`, from which they are read; and one
 * of the full shape, for readers of its elements.
 */
export function writeExtents(onnx: OnnxWriter, sizes: OnnxValue, shape: Shape): OnnxValue {
  const wide = onnx.cast(sizes, 'int64');
  const all = onnx.node('Concat', [wide, onnx.ints([0])], { axis: 0 });
  onnx.learn(writeFilled(onnx, 'bool', 0, all), [...shape, 0]);
  return writeFilled(onnx, 'bool', 0, wide);
}
