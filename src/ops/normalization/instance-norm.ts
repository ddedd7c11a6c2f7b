import type { AttributesOf } from '../../base/attributes/schema.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
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

/**
 * Normalizes each channel of each example of `x`, `[N, C, ...size]`, by its own mean and variance over space,
 * then `* gamma + beta` with parameters of shape `[C]`, either of which may be absent. Integers become float32;
 * statistics of 16-bit floats are computed in float32.
 *
 * Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016. Throws a `ShapeError` without a spatial
 * axis, or for parameters of another shape.
 */
export const instanceNorm: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    gamma?: Input<T> | null,
    beta?: Input<T> | null,
    options?: NormalizationOptions,
  ) => T
> = operator({
  name: 'instanceNorm',
  options: { at: 3, names: ['epsilon'] },
  family: 'normalization',
  attributes: affineAttributes,
  operands: 'float',
  call: (x, gamma, beta, options) => affineCall(x, gamma, beta, options),
  infer: ({ inputs: [x, ...parameters], require }) => {
    if (x.shape.length < 3) {
      throw new ShapeError('there is no space to normalize over', {
        op: 'instanceNorm',
        expected: '[N, C, ...size] with at least one spatial axis',
        actual: shapeToString(x.shape),
      });
    }
    checkParameters('instanceNorm', parameters, [x.shape[1]], x.shape, require);
    return [x];
  },
  ...affineForm<AttributesOf<typeof affineAttributes>>((x, { epsilon }) => {
    const { shape } = x.type;
    const axes = shape.slice(2).map((_, axis) => axis + 2);
    return {
      along: alongChannels(shape),
      of: () => standardForm.of(x, axes, epsilon),
      through: (g) => standardForm.through(x, g, axes, epsilon),
    };
  }),
  onnx: (call) => affineInOnnx('InstanceNormalization', call),
  samples: [
    { args: [tensor(['n', 'c', 6]), tensor(['c']), tensor(['c'])] },
    { args: [tensor(['n', 3, 2, 'w']), null, tensor([3]), { epsilon: 0.1 }], least: { w: 1 } },
    { args: [tensor([2, 4, 3]), tensor([4])] },
    { args: [tensor([1, 2, 2, 1, 3])] },
  ],
});
