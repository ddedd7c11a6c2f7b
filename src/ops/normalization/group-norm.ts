import * as attr from '../../base/attributes/attribute.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import { floorDivDim, mulDim, sameDim } from '../../base/dim/index.js';
import { ShapeError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { reshape } from '../movement/reshape.js';
import {
  affineAttributes,
  affineCall,
  affineForm,
  affineInOnnx,
  alongChannels,
  checkParameters,
  type NormalizationOptions,
} from './affine.js';
import { standardForm } from './standardize.js';

const attributes = { ...affineAttributes, groups: attr.int };

/**
 * Normalizes groups of channels of `x`, `[N, C, ...size]`: each of the `groups` groups of neighboring
 * channels by its own mean and variance over channels and space, then `* gamma + beta` with parameters of
 * shape `[C]`, either of which may be absent. With as many groups as channels this is `instanceNorm`.
 *
 * Source: Wu and He, Group Normalization, 2018. Throws a `ShapeError` when the groups do not divide the
 * channels, or for parameters of another shape.
 */
export const groupNorm: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    groups: number,
    gamma?: Input<T> | null,
    beta?: Input<T> | null,
    options?: NormalizationOptions,
  ) => T
> = operator({
  name: 'groupNorm',
  options: { at: 4, names: ['epsilon'] },
  family: 'normalization',
  attributes,
  operands: 'float',
  call: (x, groups, gamma, beta, options) => {
    const { inputs, attributes: affine } = affineCall(x, gamma, beta, options);
    return { inputs, attributes: { ...affine, groups } };
  },
  infer: ({ inputs: [x, ...parameters], attributes: { groups }, require }) => {
    checkGroups(x.shape, groups);
    checkParameters('groupNorm', parameters, [x.shape[1]], x.shape, require);
    return [x];
  },
  ...affineForm<AttributesOf<typeof attributes>>((x, { groups, epsilon }) => {
    const { shape } = x.type;
    const axes = withinGroup(shape);
    return {
      along: alongChannels(shape),
      of: () => reshape(standardForm.of(split(x, groups), axes, epsilon), shape),
      through: (g) =>
        reshape(standardForm.through(split(x, groups), split(g, groups), axes, epsilon), shape),
    };
  }),
  onnx: (call) => {
    // Before opset 21 the parameters are per group.
    if (call.onnx.opset < 21 || call.inputTypes[0].shape.length < 3) return null;
    return affineInOnnx('GroupNormalization', call, { num_groups: call.attributes.groups });
  },
  samples: [
    { args: [tensor(['n', 4, 3]), 2, tensor([4]), tensor([4])] },
    { args: [tensor(['n', 3, 2, 'w']), 3, null, tensor([3]), { epsilon: 0.1 }], least: { w: 1 } },
    { args: [tensor([2, 4]), 1] },
  ],
});

function checkGroups(shape: Shape, groups: number): void {
  const fits =
    shape.length >= 2 &&
    groups >= 1 &&
    sameDim(mulDim(floorDivDim(shape[1], groups), groups), shape[1]);
  if (fits) return;
  throw new ShapeError('the groups do not fit the channels', {
    op: 'groupNorm',
    expected: `[N, C, ...] with C a multiple of ${groups} groups, 1 or more`,
    actual: shapeToString(shape),
  });
}

/** Splits the channel axis in two: `[N, groups, C / groups, ...size]`. */
function split<T extends Tensor>(x: T, groups: number): T {
  const [images, channels, ...size] = x.type.shape;
  return reshape(x, [images, groups, floorDivDim(channels, groups), ...size]);
}

/** The axes of the split shape that lie within a group. */
function withinGroup(shape: Shape): readonly number[] {
  return shape.slice(1).map((_, axis) => axis + 2);
}
