import {
  addDim,
  type Dim,
  floorDivDim,
  isStatic,
  mulDim,
  subDim,
} from '../../../base/dim/index.js';
import { conv, convTranspose } from '../../../ops/index.js';
import { type HloCall, staticSizes } from '../lowering/call.js';
import { type HloValue, isEmpty, upTo } from '../language/types.js';
import { type HloWriter, spreadSize } from '../language/writer.js';
import { type HloAttributes, integerList } from '../language/sizes.js';
import { exactly, inWideDType } from './precision.js';
import { hloRule, type RuleEntry } from './rule.js';

interface Windows {
  readonly strides: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

export const windowRules: readonly RuleEntry[] = [
  hloRule<Windows & { readonly padding: readonly (readonly Dim[])[] }>(conv, (call) => {
    const { strides, dilation, groups, padding } = call.attributes;
    return convolved(call, call.inputs[1], 'o, i', { strides, dilation, groups, pads: padding, stretch: strides.map(() => 1) }); // prettier-ignore
  }),
  hloRule<Windows & { readonly before: readonly Dim[]; readonly size: readonly Dim[] }>(
    convTranspose,
    (call) => {
      const { hlo, inputs: [x, w], inputTypes, attributes } = call; // prettier-ignore
      const { strides, dilation, groups } = attributes;
      const [, , ...kernel] = w.shape;
      const [, , ...count] = inputTypes[0].shape;
      const { before, size } = attributes;
      if (isEmpty(x)) return null;
      // The adjoint: windows turned around run over the input with zeros between its elements.
      const kernelSizes = staticSizes(hlo, kernel);
      const pads = size.map((extent, axis) => {
        const reach = dilation[axis] * (kernelSizes[axis] - 1);
        const low = subDim(reach, before[axis]);
        const used = spreadSize(count[axis], strides[axis]);
        return [low, subDim(addDim(subDim(extent, used), reach), low)];
      });
      const turned = hlo.reverse(w, upTo(kernel.length).map((axis) => axis + 2)); // prettier-ignore
      return convolved(call, byGroups(call, turned, groups), 'i, o', {
        strides: strides.map(() => 1),
        dilation,
        groups,
        pads,
        stretch: strides,
      });
    },
  ),
];

/** Weights `[O, C / groups, ...]` with the channels of all groups on the second axis: `[O / groups, C, ...]`. */
function byGroups({ hlo }: HloCall<unknown>, w: HloValue, groups: number): HloValue {
  const [outputs, perGroup, ...kernel] = w.shape;
  if (groups === 1) return w;
  const split = hlo.reshape(w, [groups, floorDivDim(outputs, groups), perGroup, ...kernel]);
  const turned = hlo.transpose(split, [1, 0, 2, ...kernel.map((_, axis) => axis + 3)]);
  return hlo.reshape(turned, [floorDivDim(outputs, groups), mulDim(perGroup, groups), ...kernel]);
}

function convolved(
  { hlo, inputs: [x], outputTypes: [{ dtype, shape }] }: HloCall<unknown>,
  w: HloValue,
  channels: 'o, i' | 'i, o',
  windows: Windows & { readonly pads: readonly (readonly Dim[])[]; readonly stretch: readonly number[] }, // prettier-ignore
): HloValue {
  if (isEmpty(x) || isEmpty(w)) return hlo.splat(dtype, 0, shape);
  const [operand, { pads, stretch }] = withKnownBorder(hlo, x, windows);
  const [input, kernel] = withElements(hlo, operand, w, windows.dilation);
  const axes = pads.map((_, axis) => `, ${axis}`).join('');
  const attributes: HloAttributes = {
    window_strides: integerList(windows.strides),
    padding: `dense<[${pads.map((pair) => `[${pair.join(', ')}]`).join(', ')}]> : tensor<${pads.length}x2xi64>`,
    lhs_dilation: integerList(stretch),
    rhs_dilation: integerList(windows.dilation),
    dimension_numbers: `#stablehlo.conv<[b, f${axes}]x[${channels}${axes}]->[b, f${axes}]>`,
    feature_group_count: `${windows.groups} : i64`,
    batch_group_count: '1 : i64',
    ...exactly(dtype),
  };
  return inWideDType(hlo, dtype, [input, kernel], (operands, wide) =>
    hlo.op('stablehlo.convolution', operands, { dtype: wide, shape }, attributes),
  );
}

/** Zeros around an operand and between its elements. */
interface Border {
  readonly pads: readonly (readonly Dim[])[];
  readonly stretch: readonly number[];
}

/** An operand and its border. A convolution has numbers only: a border that depends on sizes is written before it. */
function withKnownBorder(
  hlo: HloWriter,
  x: HloValue,
  { pads, stretch }: Border,
): readonly [HloValue, Border] {
  if (pads.flat().every(isStatic)) return [x, { pads, stretch }];
  const [low, high] = [0, 1].map((end) => [0, 0, ...pads.map((pair) => pair[end])]);
  const between = [0, 0, ...stretch.map((step) => step - 1)];
  const padded = hlo.pad(x, hlo.splat(x.dtype, 0), low, high, between);
  return [padded, { pads: pads.map(() => [0, 0]), stretch: stretch.map(() => 1) }];
}

/**
 * Operand and window, where the window may turn out to have no elements, which XLA refuses: then it gets a zero, and
 * the operand as much room as that takes.
 */
function withElements(
  hlo: HloWriter,
  x: HloValue,
  w: HloValue,
  dilation: readonly number[],
): readonly [HloValue, HloValue] {
  const spatial = upTo(dilation.length).map((axis) => axis + 2);
  const window = hlo.withoutEmptyAxes(w, spatial);
  const room = window.shape.map((extent, axis) => mulDim(subDim(extent, w.shape[axis]), dilation[axis - 2] ?? 0)); // prettier-ignore
  return [
    hlo.pad(
      x,
      hlo.splat(x.dtype, 0),
      room.map(() => 0),
      room,
    ),
    window,
  ];
}
