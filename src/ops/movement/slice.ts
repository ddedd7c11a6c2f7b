import { describe } from '../../base/attributes/attribute.js';
import * as attr from '../../base/attributes/attribute.js';
import {
  addDim,
  type Dim,
  isStatic,
  maxDim,
  mulDim,
  sameDim,
  subDim,
} from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import { words } from '../../ir/requirement.js';
import { type Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import {
  type ArrayRange,
  knownPosition,
  knownRange,
  takeOne,
  takeRange,
} from '../dynamic/array-indices.js';
import { normalizeAxis } from '../declare/infer.js';
import { callOf, example } from '../declare/law.js';
import { computeScalar } from '../declare/lowering.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { placeBlock } from './place.js';
import { reshape } from './reshape.js';
import {
  type IndexRange,
  partInShape,
  resolveIndices,
  type Selection,
  type SliceEntry,
  sliceEntry,
} from './range.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';
import { gatheredBack } from '../indexing/gathered-back.js';

/**
 * One index of `slice`: a number selects one index and drops the axis, `[start, stop?, step?]` is a range,
 * `null` adds an axis of size 1, `':'` keeps an axis, `'...'` keeps the remaining ones. An integer array of
 * one element may replace an index or a bound.
 */
export type SliceIndex<T extends Tensor = Tensor> = PlainIndex | T | ArrayRange<T>;

type PlainIndex =
  SliceEntry | ':' | readonly [start?: SliceBound, stop?: SliceBound, step?: number];

type SliceBound = Exclude<SliceEntry, '...' | readonly unknown[]>;

/**
 * Part of `x`, NumPy's basic indexing: `slice(x, 0, [1, -1], '...', [null, null, -1])`. Negative numbers
 * count from the end, ranges are clamped to the extent, steps may be negative. A symbolic bound counts from
 * the front. A number outside the extent is an `ArgumentError`. Where an array is a bound, the length of the
 * result is, in captured code, a size that only the data decides.
 */
export const slice: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, ...indices: SliceIndex[]) => T
> = operator({
  name: 'slice',
  family: 'movement',
  attributes: { indices: attr.list(sliceEntry) },
  operands: 'keep',
  call: (x, ...indices) => {
    const plain = indices.filter((index) => !holdsArray(index)) as readonly PlainIndex[];
    if (plain.length === indices.length) {
      return { inputs: [x], attributes: { indices: plain.map(entryOf) } };
    }
    const taken = takeByArrays(x, indices);
    return { inputs: [taken.x], attributes: { indices: taken.indices.map(entryOf) } };
  },
  infer: ({ inputs: [x], attributes: { indices }, require }) => [
    { dtype: x.dtype, shape: resultShape(resolveIndices('slice', x.shape, indices, require)) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes: { indices } }) => [
    sliceAdjoint(g!, x.type.shape, indices),
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], inputTypes: [type], index, extent, attributes: { indices } }) => {
      const { ranges, kept } = resolveIndices('slice', type.shape, indices);
      const at = ranges.map(({ start, step }, axis): Expr => {
        const place = kept.indexOf(axis);
        if (place < 0) return extent(start);
        const distance = step === 1 ? index[place] : e.mul(index[place], step);
        return start === 0 ? distance : e.add(distance, extent(start));
      });
      return x.at(at);
    },
  },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes: { indices } }) => {
    const { ranges, kept } = resolveIndices('slice', shape, indices);
    return partOf(onnx, x, shape, ranges, kept);
  },
  batch: {
    isLinear: true,
    rows: ({ inputs: [x], attributes: { indices } }) => [slice(x, ':', ...indices)],
  },
  simplify: [
    {
      name: 'everything',
      law: 'x[:, :] = x, x[:, None, :] = reshape(x), x[0] = reshape(x) where axis 0 has size 1',
      cases: [
        example([tensor(['n', 4])], (x) => slice(x, ':', [0, 4])),
        example([tensor(['n', 4])], (x) => slice(x, null, [0], '...')),
        example([tensor(['n', 1])], (x) => slice(x, ':', 0)),
        example([tensor([1, 3])], (x) => slice(x, [null, null, -1])),
      ],
      apply: ({ inputs: [x], attributes: { indices }, type }) => {
        const { shape } = x.type;
        const isWhole = resolveIndices('slice', shape, indices).ranges.every(
          ({ start, step, length }, axis) =>
            sameDim(length, shape[axis]) && (shape[axis] === 1 || (step === 1 && start === 0)),
        );
        return isWhole ? reshape(x, type.shape) : null;
      },
    },
    {
      name: 'part-of-part',
      law: 'x[a:b:s][c:d:t] = x[a + s*c : a + s*d : s*t]',
      cases: [
        example([tensor([9, 4])], (x) => slice(slice(x, [2, 8, 2]), [1])),
        example([tensor([9, 4])], (x) => slice(slice(x, [null, null, -2]), [null, null, -1], 2)),
        example([tensor([9, 4])], (x) => slice(slice(x, [1, null, 3], null), 2, '...', [1, 3])),
        example([tensor(['n', 4])], (x) => slice(slice(x, ':', [1]), ':', 0)),
      ],
      apply: ({ inputs: [y], attributes: { indices }, type }) => {
        const inner = callOf(y, slice);
        if (inner === null) return null;
        const [x] = inner.inputs;
        const first = resolveIndices(
          'slice',
          x.type.shape,
          inner.attributes.indices as readonly SliceEntry[],
        );
        const second = resolveIndices('slice', y.type.shape, indices);
        const ranges = first.ranges.map((range, axis) => {
          const place = first.kept.indexOf(axis);
          return place < 0 ? range : within(range, second.ranges[place]);
        });
        const entries = rangeEntries(x.type.shape, ranges);
        return entries === null ? null : reshape(slice(x, ...entries), type.shape);
      },
    },
  ],
  viewed: {
    name: 'reshaped-part',
    law: 'reshape(x[:, a:b], [m, p, q]) = reshape(x, [m, n / q, q])[:, a/q : b/q] for x of [m, n], where q divides n and a',
    cases: [
      example([tensor(['n', 12])], (x) => reshape(slice(x, ':', [4, 8]), [-1, 2, 2])),
      example([tensor(['n', 12])], (x) => reshape(slice(x, '...', [8]), [-1, 1, 4])),
      example([tensor([2, 'n', 6, 3])], (x) => reshape(slice(x, ':', ':', [3, 6]), [-1, 3, 3, 1])),
      example([tensor([6, 'n'])], (x) => reshape(slice(x, [2, 6]), [2, 2, -1])),
    ],
    apply: ({ inputs: [x], attributes: { indices }, type }) => {
      const part = partInShape(x.type.shape, indices, type.shape);
      return part === null ? null : slice(reshape(x, part.whole), ...part.indices);
    },
  },
  samples: [
    { args: [tensor(['n', 4]), ':', [1, 3]] },
    { args: [tensor(['n', 4]), [-3, null], 2] },
    { args: [tensor([3, 'n']), [null, null, -2], null, '...', [1]] },
    { args: [tensor([5, 'm']), 0] },
    { args: [tensor([5], { dtype: 'int64' }), -1] },
  ],
});

/** Composition of two ranges: the inner one counts within the outer. */
function within(outer: IndexRange, { start, step, length }: IndexRange): IndexRange {
  return {
    start: addDim(outer.start, mulDim(start, outer.step)),
    step: outer.step * step,
    length,
  };
}

/** Entries that select exactly these ranges of a shape; null where slicing rules cannot express it. */
function rangeEntries(shape: Shape, ranges: readonly IndexRange[]): readonly SliceEntry[] | null {
  const entries = ranges.map(({ start, step, length }): SliceEntry => {
    if (length === 0) return [0, 0, 1];
    const stop: Dim = addDim(start, mulDim(length, step));
    return [start, typeof stop === 'number' && stop < 0 ? null : stop, step];
  });
  const found = resolveIndices('slice', shape, entries).ranges;
  const isExact = found.every(
    ({ start, step, length }, axis) =>
      sameDim(length, ranges[axis].length) &&
      (length === 0 || (step === ranges[axis].step && sameDim(start, ranges[axis].start))),
  );
  return isExact ? entries : null;
}

/** @internal Zeros of a shape with `g` at the elements that `slice` with the same indices selects. */
export const sliceAdjoint: OperatorFunction<
  <T extends Tensor = DefaultTensor>(g: Input<T>, shape: Shape, indices: readonly SliceEntry[]) => T
> = operator({
  name: 'sliceAdjoint',
  family: 'movement',
  attributes: { shape: attr.dims, indices: attr.list(sliceEntry) },
  method: false,
  operands: 'keep',
  call: (g, shape, indices) => ({ inputs: [g], attributes: { shape, indices } }),
  infer: ({ inputs: [g], attributes: { shape, indices }, require }) => {
    requireShape(g.shape, placeShape(g.shape, shape, indices), require);
    return [{ dtype: g.dtype, shape }];
  },
  meetings: ([g], { shape, indices }) => shapeMeetings(0, g, placeShape(g, shape, indices)),
  gradient: ({ grads: [g], attributes: { indices } }) => [slice(g!, ...indices)],
  lowering: {
    kind: 'kernel',
    kernel: ({ inputs: [g], outputs: [sink], extent, attributes: { shape, indices } }) => {
      const { ranges, kept } = resolveIndices('sliceAdjoint', shape, indices);
      const axes = ranges.map(({ start, step, length }) => ({
        start: extent(start),
        step,
        length: extent(length),
      }));
      const value = (source: readonly Expr[]): Expr =>
        g.at(kept.map((axis) => (axis < 0 ? e.i32(0) : source[axis])));
      return placeBlock(sink, axes, value, e.constant(computeScalar(sink.dtype), 0));
    },
  },
  batch: {
    isLinear: true,
    rows: ({ inputs: [g], length, attributes: { shape, indices } }) => [
      sliceAdjoint(g, [length, ...shape], [[0, null, 1], ...indices]),
    ],
  },
  onnx: {
    composed: ({ inputs: [g], attributes: { shape, indices } }) => [
      gatheredBack(g, shape, (numbers) => slice(numbers, ...indices)),
    ],
  },
  samples: [
    { args: [tensor([3, 2]), [5, 3, 4], [1, '...', [3, 0, -2]]] },
    { args: [tensor([2, 3]), [5, 3], [[1, 5, 3]]] },
    { args: [tensor([0, 3]), [2, 3], [[2, null, 1]]] },
  ],
});

/** Further than any axis is long. */
const beyond = Number.MAX_SAFE_INTEGER;

/** Bounds that mean in ONNX what a range means, however long its axis is; null where only computed ones do. */
function sameBounds({ step, written }: IndexRange): readonly [start: number, end: number] | null {
  if (written === undefined) return null;
  const [start, stop] = written.map((bound, k) => bound ?? (step > 0 === (k > 0) ? beyond : step > 0 ? 0 : -beyond)); // prettier-ignore
  // What begins before the array and goes back is empty, but there begins at the first element.
  if (!isStatic(start) || !isStatic(stop) || (step < 0 && start < 0)) return null;
  return [start, stop];
}

/** The ranges of a slice in ONNX; ends count from the back where they must not be clamped. */
function partOf(
  onnx: OnnxWriter,
  x: OnnxValue,
  shape: Shape,
  ranges: readonly IndexRange[],
  kept: readonly number[],
): OnnxValue {
  const cut = ranges.flatMap(({ start, step, length }, axis) =>
    start === 0 && step === 1 && sameDim(length, shape[axis]) ? [] : [axis],
  );
  const bounds = cut.map((axis): readonly [start: Dim, end: Dim] => {
    const { start, step, length } = ranges[axis];
    const same = isStatic(shape[axis]) ? null : sameBounds(ranges[axis]);
    if (same !== null) return same;
    const first = maxDim(start, 0);
    const end = addDim(first, mulDim(length, step));
    return [first, step > 0 ? end : subDim(end, shape[axis])];
  });
  const part =
    cut.length === 0
      ? x
      : onnx.node('Slice', [
          x,
          onnx.sizes(bounds.map(([start]) => start)),
          onnx.sizes(bounds.map(([, end]) => end)),
          onnx.ints(cut),
          onnx.ints(cut.map((axis) => ranges[axis].step)),
        ]);
  const dropped = shape.flatMap((_, axis) => (kept.includes(axis) ? [] : [axis]));
  const added = kept.flatMap((axis, place) => (axis < 0 ? [place] : []));
  const narrow = dropped.length === 0 ? part : onnx.node('Squeeze', [part, onnx.ints(dropped)]);
  return added.length === 0 ? narrow : onnx.node('Unsqueeze', [narrow, onnx.ints(added)]);
}

/** The shape that `sliceAdjoint` asks of its block. */
function placeShape(g: Shape, shape: Shape, indices: readonly SliceEntry[]): RequiredShape {
  const op = 'sliceAdjoint';
  const place = resultShape(resolveIndices(op, shape, indices));
  return requiredShape(op, words`the block does not fit the place`, place, g);
}

function resultShape({ ranges, kept }: Selection): Shape {
  return kept.map((axis) => (axis < 0 ? 1 : ranges[axis].length));
}

function holdsArray(index: SliceIndex): index is Tensor | ArrayRange {
  if (index instanceof Tensor) return true;
  return Array.isArray(index) && index.some((bound) => bound instanceof Tensor);
}

/** Applies the array indices; the other indices are returned. */
function takeByArrays<T extends Tensor>(
  x: Input<T>,
  indices: readonly SliceIndex[],
): { readonly x: Input<T>; readonly indices: readonly PlainIndex[] } {
  if (!(x instanceof Tensor)) {
    throw new ArgumentError('plain data is not sliced by arrays', {
      op: 'slice',
      expected: 'an array',
      actual: describe(x),
      advice: 'make it an array with kn.array',
    });
  }
  const used = indices.filter((index) => index !== null && index !== '...').length;
  const left: PlainIndex[] = [];
  let taken: T = x;
  let axis = 0;
  for (const index of indices) {
    if (!holdsArray(index)) {
      left.push(index);
      if (index === '...') axis += Math.max(0, x.type.shape.length - used);
      else if (index !== null) axis++;
    } else if (index instanceof Tensor) {
      const position = knownPosition('slice', index);
      if (position !== undefined) {
        left.push(position);
        axis++;
        continue;
      }
      taken = takeOne('slice', taken, index as T, axisWithin(taken, axis));
    } else {
      const at = axisWithin(taken, axis);
      const range = knownRange('slice', index);
      if (range === undefined) taken = takeRange('slice', taken, index, at);
      left.push(range ?? ':');
      axis++;
    }
  }
  return { x: taken, indices: left };
}

function axisWithin({ type: { shape } }: Tensor, axis: number): number {
  return normalizeAxis('slice', axis, shape.length);
}

function entryOf(index: PlainIndex): SliceEntry {
  if (index === ':') return [null, null, 1];
  const entry =
    Array.isArray(index) && index.length <= 3
      ? [index[0] ?? null, index[1] ?? null, index[2] ?? 1]
      : index;
  if (sliceEntry.accepts(entry)) return entry;
  throw new ArgumentError('this is not an index', {
    op: 'slice',
    expected: "an integer, [start, stop, step], null, ':' or '...'",
    actual: describe(index),
    advice: 'to select by an array of positions use take, by an array of booleans booleanMask',
  });
}
