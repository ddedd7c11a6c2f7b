import { addDim, type Dim, floorDivDim, maxDim, mulDim, subDim } from '../../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../base/errors.js';
import { divisible, type MessageTemplate, type Require, words } from '../../../ir/requirement.js';
import type { Shape } from '../../../ir/types.js';
import { shapeToString } from '../../declare/infer.js';
import type { Meeting } from '../../declare/meeting.js';
import {
  endsFor,
  type PaddingPair,
  perAxis,
  type PerAxis,
  reach,
  type WindowOptions,
  windowsOf,
} from '../window.js';
import type { ConvTransposeAttributes } from './nests.js';

export interface ConvOptions extends WindowOptions {
  /** Number of channel groups, each convolved separately. Default 1. */
  readonly groups?: number;
}

export interface ConvTransposeOptions extends ConvOptions {
  /** Added at the end of each spatial axis of the result; less than the stride. Default 0. */
  readonly outputPadding?: PerAxis;
  /** The spatial extents of the result, which replace those that the options would give. */
  readonly size?: readonly Dim[];
}

/** The operands of a convolution in words, for errors. */
export function operandWords(x: Shape, w: Shape, groups: number): MessageTemplate {
  return words`input ${x}, weights ${w}, groups ${groups}`;
}

/** Refuses an input and weights whose ranks do not fit each other, or so many spatial axes. */
export function checkRanks(op: string, x: Shape, w: Shape, axes: number = x.length - 2): void {
  if (x.length === w.length && x.length === axes + 2 && axes >= 1) return;
  throw new ShapeError('the ranks do not fit', {
    op,
    expected: 'input and weights of one rank: two axes and 1 or more spatial ones',
    actual: `input ${shapeToString(x)}, weights ${shapeToString(w)}`,
  });
}

/** States that the number of groups divides an extent. */
export function requireGroups(
  op: string,
  extent: Dim,
  groups: number,
  actual: MessageTemplate,
  require: Require,
): void {
  require(divisible(extent, groups), () => ({
    op,
    problem: words`the groups do not divide the channels`,
    expected: words`a multiple of ${groups} channels`,
    actual,
  }));
}

/** The channels of a convolution's input, which its weights decide. */
export function channels(op: string, x: Shape, w: Shape, groups: number): Meeting {
  const size = mulDim(w[1], groups);
  const expected = words`${size} input channels (${w[1]} a group, ${groups} groups)`;
  return inputChannels(op, size, expected, operandWords(x, w, groups));
}

/** The channels of the input of a transposed convolution. */
export function channelsOfTransposed(op: string, x: Shape, w: Shape, groups: number): Meeting {
  return inputChannels(op, w[0], words`${w[0]} input channels`, operandWords(x, w, groups)); // prettier-ignore
}

function inputChannels(
  op: string,
  size: Dim,
  expected: MessageTemplate,
  actual: MessageTemplate,
): Meeting {
  const problem = words`the channels do not fit`;
  return {
    places: [{ operand: 0, axis: 1 }],
    broadcasts: false,
    size,
    refusal: () => ({ op, problem, expected, actual }),
  };
}

/** The batches of a convolution's input and of the gradient of its result. */
export function batches(op: string, x: Shape, g: Shape): Meeting {
  return {
    places: [0, 1].map((operand) => ({ operand, axis: 0 })),
    broadcasts: false,
    refusal: () => ({
      op,
      problem: words`the batches do not fit each other`,
      expected: words`two arrays with one batch size`,
      actual: words`input ${x}, gradient ${g}`,
    }),
  };
}

/** The padding with which windows of a kernel, so many of them, begin `before` an input of a size. */
export function paddingFor(
  size: Shape,
  kernel: Shape,
  count: Shape,
  { before, strides, dilation }: Pick<ConvTransposeAttributes, 'before' | 'strides' | 'dilation'>,
): readonly PaddingPair[] {
  return size.map((extent, axis) =>
    endsFor(extent, before[axis], kernel[axis], count[axis], strides[axis], dilation[axis]),
  );
}

/** Offset and size of the result. */
export function placement(
  op: string,
  options: ConvTransposeOptions,
  count: Shape,
  kernel: Shape,
): {
  readonly strides: readonly number[];
  readonly dilation: readonly number[];
  readonly before: readonly Dim[];
  readonly size: readonly Dim[];
} {
  const isSame = options.padding === 'same';
  const { strides, dilation, padding } = windowsOf(
    op,
    isSame ? { ...options, padding: 0 } : options,
    count,
    kernel,
  );
  const extra = perAxis(op, 'outputPadding', options.outputPadding ?? 0, count.length, 0);
  extra.forEach((entry, axis) => {
    if (entry === 0 || entry < strides[axis] || entry < dilation[axis]) return;
    throw new ArgumentError('outputPadding is not acceptable', {
      op,
      expected: `less than the stride (${strides[axis]}) or the dilation (${dilation[axis]})`,
      actual: String(entry),
    });
  });
  const full = count.map((windows, axis) =>
    addDim(mulDim(subDim(windows, 1), strides[axis]), reach(kernel[axis], dilation[axis])),
  );
  if (isSame) {
    const size = options.size ?? count.map((windows, axis) => mulDim(windows, strides[axis]));
    const before = full.map((extent, axis) =>
      floorDivDim(maxDim(subDim(extent, size[axis]), 0), 2),
    );
    return { strides, dilation, before, size };
  }
  const size = full.map((extent, axis) =>
    addDim(subDim(subDim(extent, padding[axis][0]), padding[axis][1]), extra[axis]),
  );
  return { strides, dilation, before: padding.map(([low]) => low), size: options.size ?? size };
}
