import {
  addDim,
  type Dim,
  floorDivDim,
  isStatic,
  maxDim,
  minDim,
  mulDim,
  sameDim,
  subDim,
} from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import { type Refusal, words } from '../../../ir/requirement.js';
import { type Shape, Tensor } from '../../../ir/types.js';
import { sizesFromElements } from '../../../ops/dynamic/extents.js';
import * as ops from '../../../ops/index.js';
import type { SliceIndex } from '../../../ops/movement/slice.js';
import { alongAxis, type ImportedNode, type Results } from '../node.js';
import { anyElement, moves, type ImportRules } from './rule.js';

/** Slice: the ranges are attributes before opset 10. Starts and ends may be dynamic. */
function sliced(x: Value, node: ImportedNode): Value {
  const rank = x.type.shape.length;
  const isOld = node.version < 10;
  const bounds = (name: string, index: number): readonly (Dim | Value)[] => {
    if (isOld) return node.attributes.ints(name, []);
    const known = node.dimsIfKnown(index);
    if (known !== null) return known;
    const all = node.value(index);
    return Array.from({ length: node.axesIn(index) }, (_, k) => ops.slice(all, k));
  };
  const starts = bounds('starts', 1);
  const ends = bounds('ends', 2);
  const counted = Array.from({ length: starts.length }, (_, axis) => axis);
  const axes = (isOld ? node.attributes.ints('axes', null) : node.has(3) ? node.numbers(3) : null) ?? counted; // prettier-ignore
  const steps = !isOld && node.has(4) ? node.numbers(4) : counted.map(() => 1);
  if (
    ends.length !== starts.length ||
    axes.length !== starts.length ||
    steps.length !== starts.length
  ) {
    throw node.refuse('there is not one start, end, axis and step for each range');
  }
  const indices: SliceIndex[] = Array.from({ length: rank }, () => ':');
  axes.forEach((each, k) => {
    const axis = node.axis(each, rank);
    if (steps[k] === 0) throw node.refuse('a step is 0');
    const isForward = steps[k] > 0;
    const extent = x.type.shape[axis];
    const start = within(limited(starts[k], !isForward), extent, !isForward, 0);
    const end = within(limited(ends[k], isForward), extent, false, isForward ? 0 : -1);
    indices[axis] = [start, end, steps[k]] as SliceIndex;
  });
  return ops.slice(x, ...indices);
}

/** Exceeds the length of any axis. */
const beyond = 2 ** 31 - 1;

/**
 * Normalizes a bound: null for one far outside on the side where the range starts or ends; others are clamped
 * to exact integers.
 */
function limited(bound: Dim | Value, isLast: boolean): Dim | Value | null {
  if (typeof bound !== 'number') return bound;
  if (isLast ? bound >= beyond : bound <= -beyond) return null;
  return Math.min(Math.max(bound, -(2 ** 40)), 2 ** 40);
}

/**
 * A bound that counts from the front and is `least` at least, where its sign only sizes tell or `isClamped` says that
 * one from before the array is clamped; others as they are, which `slice` reads alike. Null stands for an end.
 */
function within(
  bound: Dim | Value | null,
  extent: Dim,
  isClamped: boolean,
  least: 0 | -1,
): Dim | Value | null {
  if (bound === null || bound instanceof Tensor) return bound;
  // The last element, or none.
  if (isClamped && bound === -1) return null;
  if (isStatic(bound) && !(isClamped && bound < 0)) return bound;
  const isNegative = minDim(1, maxDim(0, mulDim(bound, -1)));
  const first = maxDim(addDim(bound, mulDim(isNegative, extent)), least);
  return first === -1 ? null : first;
}

function concatenated(node: ImportedNode): Results {
  const values = node.values();
  const axis = node.attributes.int('axis', node.version < 4 ? 1 : 0);
  return node.like(0, ops.concat(values, axis));
}

/** Split: sizes are an attribute before opset 13; without sizes, parts are equal except the last. */
function parts(node: ImportedNode): Results {
  const x = node.value(0);
  const axis = node.axis(node.attributes.int('axis', 0), x.type.shape.length);
  const extent = x.type.shape[axis];
  const sizes = node.has(1) ? node.sizes(1) : node.attributes.ints('split', null);
  const count = node.attributes.int('num_outputs', node.proto.output.length);
  if (sizes === null && (count < 1 || count > node.proto.output.length)) {
    throw node.refuse('the number of parts is not that of the outputs');
  }
  const cuts: Dim[] = [];
  if (sizes === null) {
    const each = floorDivDim(subDim(addDim(extent, count), 1), count);
    for (let k = 1; k < count; k++) cuts.push(addDim(cuts.at(-1) ?? 0, each));
  } else {
    for (const size of sizes.slice(0, -1)) cuts.push(addDim(cuts.at(-1) ?? 0, size));
    const total = sizes.reduce(addDim, 0);
    if (isStatic(total) && isStatic(extent) && total !== extent) {
      throw node.refuse('the parts do not make up the whole', String(extent), String(total));
    }
  }
  const refusal: Refusal = {
    op: 'Split',
    problem: words`the parts do not make up the whole`,
    expected: words`sizes that add up to ${extent}`,
    actual: words`${sizes ?? []}`,
  };
  return ops.split(x, cuts, axis).map((part, k) => {
    const { shape } = part.type;
    if (sizes === null || sameDim(shape[axis], sizes[k])) return node.like(0, part);
    return node.like(0, ops.withSizes(part, shape.with(axis, sizes[k]), refusal));
  });
}

const modes: Readonly<Record<string, 'constant' | 'edge' | 'reflect' | 'wrap'>> = {
  constant: 'constant',
  edge: 'edge',
  reflect: 'reflect',
  wrap: 'wrap',
};

/** Widths of a border, and of what is cut off: negative ones crop. */
function borderOf(node: ImportedNode): { readonly border: Shape; readonly cut: Shape } {
  const known = node.version < 11 ? (node.attributes.ints('pads', null) ?? node.attributes.ints('paddings', [])) : node.dimsIfKnown(1); // prettier-ignore
  if (known !== null) {
    const positive = (sign: (width: Dim) => Dim): Shape =>
      known.map((width) => maxDim(sign(width), 0));
    return { border: positive((width) => width), cut: positive((width) => subDim(0, width)) };
  }
  const widths = node.value(1);
  if (node.axesIn(1) === 0) return { border: [], cut: [] };
  const [border, cut] = [widths, ops.neg(widths)].map((each) =>
    sizesFromElements(ops.maximum(each, 0)),
  );
  return { border, cut };
}

/** Pad: the axes and widths of a border. */
function padded(x: Value, node: ImportedNode): Value {
  const rank = x.type.shape.length;
  const { border, cut } = borderOf(node);
  const axes = node.has(3) ? node.numbers(3).map((axis) => node.axis(axis, rank)) : Array.from({ length: rank }, (_, axis) => axis); // prettier-ignore
  if (border.length !== 2 * axes.length)
    throw node.refuse('there are not two widths for each axis');
  const mode = modes[node.attributes.string('mode', 'constant')];
  if (mode === undefined) throw node.refuse('no such mode', Object.keys(modes).join(', '));
  const pairs = (widths: Shape): readonly (readonly [Dim, Dim])[] => {
    const all = Array.from({ length: rank }, (): readonly [Dim, Dim] => [0, 0]);
    axes.forEach((axis, k) => (all[axis] = [widths[k], widths[k + axes.length]]));
    return all;
  };
  const indices = pairs(cut).map(([before, after], axis): SliceIndex => {
    return [before, maxDim(subDim(x.type.shape[axis], after), 0), 1];
  });
  const inner = cut.every((width) => width === 0) ? x : ops.slice(x, ...indices);
  return surrounded(inner, pairs(border), mode, node);
}

/** An array with a border in a mode, or of the value that a node is given. */
function surrounded(
  cut: Value,
  border: readonly (readonly [Dim, Dim])[],
  mode: 'constant' | 'edge' | 'reflect' | 'wrap',
  node: ImportedNode,
): Value {
  if (mode !== 'constant' || !node.has(2)) {
    const value = node.version < 11 ? node.attributes.float('value', 0) : 0;
    return ops.pad(cut, border, { mode, value });
  }
  if (node.dataIfKnown(2) !== null) return ops.pad(cut, border, { value: node.number(2) });
  // A dynamic fill value is selected where the border is.
  const inside = ops.pad(ops.onesLike(cut, { dtype: 'bool' }), border);
  return ops.where(inside, ops.pad(cut, border), ops.reshape(node.value(2), []));
}

/** CenterCropPad: crops or zero-pads around the center to the requested sizes. */
function centered(x: Value, node: ImportedNode): Value {
  const rank = x.type.shape.length;
  const axes =
    node.attributes.ints('axes', null) ?? Array.from({ length: rank }, (_, axis) => axis);
  const sizes = node.sizes(1);
  const border = Array.from({ length: rank }, (): readonly Dim[] => [0, 0]);
  const indices: SliceIndex[] = Array.from({ length: rank }, () => ':');
  axes.forEach((each, k) => {
    const axis = node.axis(each, rank);
    const extent = x.type.shape[axis];
    const [missing, surplus] = [
      maxDim(subDim(sizes[k], extent), 0),
      maxDim(subDim(extent, sizes[k]), 0),
    ];
    const before = floorDivDim(missing, 2);
    border[axis] = [before, subDim(missing, before)];
    const start = floorDivDim(surplus, 2);
    indices[axis] = [start, addDim(start, minDim(sizes[k], extent)), 1];
  });
  return ops.pad(ops.slice(x, ...indices), border);
}

/** ReverseSequence: reverses the first elements along one axis, by a length for each index of another. */
function reversedSequences(x: Value, node: ImportedNode): Value {
  const time = node.attributes.int('time_axis', 0);
  const batch = node.attributes.int('batch_axis', 1);
  const { shape } = x.type;
  [time, batch].forEach((axis) => node.axis(axis, shape.length));
  const positions = node.indices(shape, time);
  const column = alongAxis(shape[batch], batch, shape.length);
  const lengths = ops.reshape(ops.cast(node.value(1), 'int64'), column);
  const mirrored = ops.where(ops.less(positions, lengths), ops.sub(ops.sub(lengths, 1), positions), positions); // prettier-ignore
  return ops.gather(x, ops.broadcastTo(mirrored, shape), time);
}

export const slices: ImportRules = {
  Slice: moves(sliced),
  Concat: anyElement(concatenated),
  Split: anyElement(parts),
  Pad: moves(padded),
  CenterCropPad: moves(centered),
  ReverseSequence: moves(reversedSequences),
};
