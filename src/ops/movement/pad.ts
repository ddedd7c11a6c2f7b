import * as attr from '../../base/attributes/attribute.js';
import { describe } from '../../base/attributes/attribute.js';
import {
  addDim,
  boundsOf,
  type Dim,
  DimExpr,
  isStatic,
  minDim,
  subDim,
} from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import { atLeast, type Require, textOfWords, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { example } from '../declare/law.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { clamped, overAll, wrappedIndex } from '../loops.js';
import { accumulate } from '../scatter.js';
import { abs } from '../elementwise/sign.js';
import { add, mul, sub } from '../elementwise/arithmetic.js';
import { mod } from '../elementwise/division.js';
import { maximum } from '../elementwise/extremum.js';
import { gatheredBack } from '../indexing/gathered-back.js';
import { take } from '../indexing/take.js';
import { cumsum } from '../reduction/cumulative.js';
import { dimLike, elementOf, onesLike } from './fill.js';
import { placeBlock } from './place.js';
import type { SliceEntry } from './range.js';
import { slice } from './slice.js';

/**
 * Border of the array: `constant` a value, `edge` the nearest element, `reflect` the mirror image without
 * repeating the edge, `wrap` the other end.
 */
export type PadMode = 'constant' | 'edge' | 'reflect' | 'wrap';

/** Widths of the border: one for all ends, before and after on every axis, or a pair for each axis. */
export type PadWidths = Dim | readonly Dim[] | readonly (readonly Dim[])[];

type Widths = readonly (readonly Dim[])[];

export interface PadOptions {
  /** Default `constant`. */
  readonly mode?: PadMode;
  /** For mode `constant`. Default 0. */
  readonly value?: number;
}

const modes = attr.oneOf('constant', 'edge', 'reflect', 'wrap');

/**
 * `x` with a border. Widths are NumPy's: one number, `[before, after]`, or a list of such pairs, one for each
 * axis. Widths larger than the array reflect and wrap repeatedly. A `ShapeError` where a mode other than
 * `constant` has no element to copy.
 */
export const pad: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, widths: PadWidths, options?: PadOptions) => T
> = operator({
  name: 'pad',
  options: { at: 2, names: ['mode', 'value'] },
  family: 'movement',
  attributes: { widths: attr.list(attr.dims), mode: modes, value: attr.number },
  operands: 'keep',
  call: (x, widths, options) => ({
    inputs: [x],
    attributes: {
      widths: widthList(widths),
      mode: options?.mode ?? 'constant',
      value: options?.value ?? 0,
    },
  }),
  infer: ({ inputs: [x], attributes: { widths, mode }, require }) => {
    const shape = paddedShape('pad', x.shape, widths);
    for (const width of widths.flat())
      require(atLeast(width, 0), () => ({ error: 'argument', op: 'pad', ...noWidths, actual: words`${width}` })); // prettier-ignore
    requireElements('pad', x.shape, widths, mode, require);
    return [{ dtype: x.dtype, shape }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { widths, mode } }) => {
    const { shape } = x.type;
    if (mode !== 'constant') return [padAdjoint(g!, shape, widths, mode)];
    const interior = shape.map((dim, axis): SliceEntry => {
      const [before] = widthsOf(widths, axis);
      return [before, addDim(dim, before), 1];
    });
    return [slice(g!, ...interior)];
  },
  lowering: {
    kind: 'kernel',
    kernel: ({ inputs: [x], outputs: [sink], extent, attributes: { widths, mode, value } }) => {
      if (mode === 'constant') {
        const axes = x.shape.map((length, axis) => ({
          start: extent(widthsOf(widths, axis)[0]),
          step: 1,
          length,
        }));
        return placeBlock(sink, axes, (source) => x.at(source), elementOf(sink.dtype, value));
      }
      return overAll(sink.shape, (index) =>
        sink.store(index, x.at(sourceOf(index, x.shape, widths, mode, extent))),
      );
    },
  },
  batch: {
    rows: ({ inputs: [x], outputTypes: [{ shape }], attributes: { widths, ...options } }) => [
      pad(x, widthsInRows(widths, shape), options),
    ],
  },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape, dtype }], attributes }) => {
    const { widths, mode, value } = attributes;
    const ends = shape.map((_, axis) => widthsOf(widths, axis));
    const border = onnx.sizes([0, 1].flatMap((end) => ends.map((pair) => pair[end])));
    if (mode === 'constant') {
      return onnx.node('Pad', [x, border, onnx.scalar(dtype, elementOf(dtype, value).value)]);
    }
    // ONNX does not support a border wider than the array.
    const isNarrow = ends.every((pair, axis) =>
      pair.every((width) => isStatic(width) && width < boundsOf(shape[axis]).min),
    );
    if (mode === 'edge' || (mode === 'reflect' && isNarrow)) {
      return onnx.node('Pad', [x, border], { mode });
    }
    return { composed: ({ inputs: [y] }) => [bordered(y, widths, mode)] };
  },
  simplify: [
    {
      name: 'no-border',
      law: 'pad(x, 0) = x',
      cases: [
        example([tensor(['n', 2])], (x) => pad(x, 0)),
        example([tensor([3, 2])], (x) =>
          pad(
            x,
            [
              [0, 0],
              [0, 0],
            ],
            { mode: 'reflect' },
          ),
        ),
      ],
      apply: ({ inputs: [x], attributes: { widths } }) =>
        widths.every((pair) => pair.every((width) => width === 0)) ? x : null,
    },
  ],
  samples: [
    { args: [tensor(['n', 'm']), [[1, 2], [0, 3]]] },
    { args: [tensor(['n', 2]), 1, { value: 0.5 }] },
    { args: [tensor(['n', 'm']), [2, 1], { mode: 'edge' }], least: { n: 1, m: 1 } },
    { args: [tensor(['n', 'm']), [[3, 4], [0, 0]], { mode: 'reflect' }], least: { n: 1 } },
    { args: [tensor(['n'], { dtype: 'int64' }), [3, 4], { mode: 'wrap' }], least: { n: 1 } },
  ], // prettier-ignore
});

/** @internal The adjoint of `pad` in its other modes: every element of the border is added to its source. */
export const padAdjoint: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    g: Input<T>,
    shape: Shape,
    widths: PadWidths,
    mode: PadMode,
  ) => T
> = operator({
  name: 'padAdjoint',
  family: 'movement',
  attributes: { shape: attr.dims, widths: attr.list(attr.dims), mode: modes },
  method: false,
  operands: 'keep',
  call: (g, shape, widths, mode) => ({
    inputs: [g],
    attributes: { shape, widths: widthList(widths), mode },
  }),
  infer: ({ inputs: [g], attributes: { shape, widths, mode }, require }) => {
    const op = 'padAdjoint';
    requireShape(g.shape, gradientShape(g.shape, shape, widths), require);
    requireElements(op, shape, widths, mode, require);
    return [{ dtype: g.dtype, shape }];
  },
  meetings: ([g], { shape, widths }) => shapeMeetings(0, g, gradientShape(g, shape, widths)),
  gradient: ({ grads: [g], attributes: { widths, mode } }) => [pad(g!, widths, { mode })],
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const { inputs, outputs, attributes } = context;
      const { widths, mode } = attributes;
      const [g] = inputs;
      return accumulate(
        context,
        g.shape,
        (index) => sourceOf(index, outputs[0].shape, widths, mode, (dim) => context.extent(dim)),
        (index) => g.at(index),
      );
    },
  },
  batch: {
    isLinear: true,
    rows: ({ inputs: [g], length, attributes: { shape, widths, mode } }) => [
      padAdjoint(g, [length, ...shape], widthsInRows(widths, shape), mode),
    ],
  },
  onnx: {
    composed: ({ inputs: [g], attributes: { shape, widths, mode } }) => [
      gatheredBack(g, shape, (numbers) => pad(numbers, widths, { mode })),
    ],
  },
  samples: [
    { args: [tensor([5, 4]), [2, 1], [2, 1], 'edge'] },
    { args: [tensor([9]), [3], [2, 4], 'reflect'] },
    { args: [tensor([2, 5]), [2, 2], [[0, 0], [3, 0]], 'wrap'] },
  ], // prettier-ignore
});

/** `pad` in the modes that repeat the array, by `take` along one axis after the other. */
function bordered<T extends Tensor>(x: T, widths: Widths, mode: PadMode): T {
  return x.type.shape.reduce<T>((padded, extent, axis) => {
    const [before, after] = widthsOf(widths, axis);
    if (before === 0 && after === 0) return padded;
    const length = addDim(extent, addDim(before, after));
    const ones = onesLike(padded, { shape: [length], dtype: 'int64' });
    const places = sub(cumsum(ones, 0), addDim(before, 1));
    if (mode !== 'reflect') return take(padded, places, { axis, mode: 'wrap' });
    const last = maximum(dimLike(places, subDim(extent, 1)), 1);
    const turned = abs(sub(mod(add(places, last), mul(last, 2)), last));
    return take(padded, turned, { axis, mode: 'clip' });
  }, x);
}

/** Source index of an element of the padded array. */
function sourceOf(
  index: readonly Expr[],
  shape: readonly Expr[],
  widths: Widths,
  mode: PadMode,
  extentOf: (dim: Dim) => Expr,
): Expr[] {
  return index.map((i, axis) => {
    const [before, after] = widthsOf(widths, axis);
    if (before === 0 && after === 0) return i;
    const at = e.sub(i, extentOf(before));
    const extent = shape[axis];
    const last = e.sub(extent, 1);
    if (mode === 'edge') return clamped(at, 0, last);
    if (mode === 'wrap') return wrappedIndex(at, extent);
    const period = e.max(e.mul(last, 2), 1);
    const phase = wrappedIndex(at, period);
    return e.min(phase, e.abs(e.sub(period, phase)));
  });
}

function paddedShape(op: string, shape: Shape, widths: Widths): Shape {
  if (widths.length !== 1 && widths.length !== shape.length) {
    throw new ArgumentError('widths and axes do not match', {
      op,
      expected: `one pair, or ${shape.length}`,
      actual: `${widths.length} pairs`,
    });
  }
  return shape.map((dim, axis): Dim => {
    const [before, after] = widthsOf(widths, axis);
    return addDim(dim, addDim(before, after));
  });
}

/** States that axes with a border have elements to repeat there. */
function requireElements(
  op: string,
  shape: Shape,
  widths: Widths,
  mode: PadMode,
  require: Require,
): void {
  if (mode === 'constant') return;
  shape.forEach((dim, axis) => {
    const [before, after] = widthsOf(widths, axis);
    require(atLeast(dim, minDim(addDim(before, after), 1)), () => ({
      op,
      problem: words`axis ${axis} has no element to pad with`,
      expected: words`at least one element on axis ${axis}, or mode 'constant'`,
      actual: words`${shape}`,
    }));
  });
}

/** The shape that `padAdjoint` asks of its gradient. */
function gradientShape(g: Shape, shape: Shape, widths: Widths): RequiredShape {
  const op = 'padAdjoint';
  const problem = words`the gradient does not have the padded shape`;
  return requiredShape(op, problem, paddedShape(op, shape, widths), g);
}

function widthsOf(widths: Widths, axis: number): readonly [Dim, Dim] {
  const [before, after] = widths.length === 1 ? widths[0] : widths[axis];
  return [before, after];
}

/** The widths of rows of a shape, which have no border between them. */
function widthsInRows(widths: Widths, row: Shape): Widths {
  return [[0, 0], ...row.map((_, axis) => widthsOf(widths, axis))];
}

const noWidths = {
  problem: words`these are not widths`,
  expected: words`an integer of 0 or more, [before, after], or a list of such pairs`,
};

function widthList(widths: PadWidths): Widths {
  const isWidth = (width: unknown): width is Dim =>
    width instanceof DimExpr || (Number.isSafeInteger(width) && Number(width) >= 0);
  const pairOf = (entry: unknown): readonly Dim[] | null => {
    if (isWidth(entry)) return [entry, entry];
    if (!Array.isArray(entry) || !entry.every(isWidth)) return null;
    if (entry.length === 1) return [entry[0], entry[0]];
    return entry.length === 2 ? entry : null;
  };
  const single = pairOf(widths);
  const pairs = single !== null ? [single] : Array.isArray(widths) ? widths.map(pairOf) : [null];
  const known = pairs.filter((pair) => pair !== null);
  if (known.length === pairs.length) return known;
  throw new ArgumentError(textOfWords(noWidths.problem), {
    op: 'pad',
    expected: textOfWords(noWidths.expected),
    actual: describe(widths),
  });
}
