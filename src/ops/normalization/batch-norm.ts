import * as attr from '../../base/attributes/attribute.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { add, mul, neg, square, sub } from '../elementwise/arithmetic.js';
import { rsqrt } from '../elementwise/root.js';
import { normalizeAxis } from '../declare/infer.js';
import { reshape } from '../movement/reshape.js';
import { sumTo } from '../reduction/sum.js';
import {
  affineAttributes,
  affineCall,
  affineGradients,
  applyAffine,
  checkParameters,
  type NormalizationOptions,
} from './affine.js';
import { moments, standardForm, throughMoments } from './standardize.js';
import type { OnnxValue } from '../declare/onnx.js';

export interface BatchNormOptions extends NormalizationOptions {
  /** The axis of the channels. Default 1. */
  readonly axis?: number;
}

const attributes = { ...affineAttributes, axis: attr.int };

/**
 * Batch normalization by given statistics, as at inference: `(x - mean) / sqrt(variance + epsilon) * gamma +
 * beta`, each of them one number for each channel; gamma and beta may be absent.
 *
 * Source: Ioffe and Szegedy, Batch Normalization, ICML 2015. Throws a `ShapeError` for statistics or
 * parameters whose shape is not `[C]`.
 */
export const batchNorm: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    mean: Input<T>,
    variance: Input<T>,
    gamma?: Input<T> | null,
    beta?: Input<T> | null,
    options?: BatchNormOptions,
  ) => T
> = operator({
  name: 'batchNorm',
  options: { at: 5, names: ['axis', 'epsilon'] },
  family: 'normalization',
  attributes,
  operands: 'float',
  call: (x, mean, variance, gamma, beta, options) => {
    const { inputs, attributes: affine } = affineCall(x, gamma, beta, options);
    return {
      inputs: [x, mean, variance, ...inputs.slice(1)],
      attributes: { ...affine, axis: options?.axis ?? 1 },
    };
  },
  infer: ({ inputs: [x, ...others], attributes: { axis }, require }) => {
    const channels = x.shape[normalizeAxis('batchNorm', axis, x.shape.length)];
    checkParameters('batchNorm', others, [channels], x.shape, require);
    return [x];
  },
  gradient: ({ inputs, grads: [g], needs, attributes: options }) => {
    const [x, mean, variance, ...parameters] = inputs;
    const along = channelShape('batchNorm', x.type.shape, options.axis);
    const factor = rsqrt(add(reshape(variance, along), options.epsilon));
    const distance = sub(x, reshape(mean, along));
    const toStatistic = (gradient: typeof x): typeof x =>
      reshape(sumTo(gradient, along), mean.type.shape);
    const [throughX, ...throughParameters] = affineGradients(
      parameters,
      g!,
      [true, ...needs.slice(3)],
      options,
      along,
      { of: () => mul(distance, factor), through: (upstream) => mul(upstream, factor) },
    );
    return [
      needs[0] ? throughX : null,
      needs[1] ? neg(toStatistic(throughX!)) : null,
      needs[2] ? toStatistic(mul(mul(mul(throughX!, distance), square(factor)), -0.5)) : null,
      ...throughParameters,
    ];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x, mean, variance, ...parameters], attributes: options }) => {
      const along = channelShape('batchNorm', x.type.shape, options.axis);
      const factor = rsqrt(add(reshape(variance, along), options.epsilon));
      const normal = mul(sub(x, reshape(mean, along)), factor);
      return [applyAffine(normal, parameters, options, along)];
    },
  },
  onnx: ({ onnx, inputs, inputTypes: [{ shape }], attributes }) => {
    const { axis, epsilon, scaled, shifted } = attributes;
    const [x, mean, variance, ...parameters] = inputs;
    // ONNX's channels are axis 1, its epsilon is a float32.
    const isOnnx = normalizeAxis('batchNorm', axis, shape.length) === 1;
    if (!isOnnx || x.dtype === 'float64') return null;
    const everywhere = (value: number): OnnxValue =>
      onnx.node('Expand', [onnx.scalar(x.dtype, value), onnx.sizes([shape[1]])]);
    const gamma = scaled ? parameters[0] : everywhere(1);
    const beta = shifted ? parameters[scaled ? 1 : 0] : everywhere(0);
    const operands = [x, gamma, beta, mean, variance];
    return onnx.node('BatchNormalization', operands, { epsilon: { float: epsilon } });
  },
  samples: [
    {
      args: [tensor(['n', 3, 2]), tensor([3]), tensor([3], { low: 0.5 }), tensor([3]), tensor([3])],
    },
    {
      args: [
        tensor(['n', 'c']),
        tensor(['c']),
        tensor(['c'], { low: 0.5 }),
        null,
        null,
        { axis: -1, epsilon: 0.1 },
      ],
    },
  ],
});

export interface BatchNormResult<T> {
  readonly output: T;
  /** The batch's own statistics, `[C]`, from which running statistics are updated. */
  readonly mean: T;
  /** Mean square distance from the mean (not corrected for the number of elements). */
  readonly variance: T;
}

/**
 * @internal Batch normalization by the batch's own statistics, as in training: returns the result together with the
 * mean and variance of the batch, so that the caller can keep running averages. See `batchNorm`.
 */
export const batchNormTraining: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    gamma?: Input<T> | null,
    beta?: Input<T> | null,
    options?: BatchNormOptions,
  ) => BatchNormResult<T>
> = operator({
  name: 'batchNormTraining',
  options: { at: 3, names: ['axis', 'epsilon'] },
  family: 'normalization',
  attributes,
  results: ['output', 'mean', 'variance'],
  method: false,
  operands: 'float',
  call: (x, gamma, beta, options) => {
    const { inputs, attributes: affine } = affineCall(x, gamma, beta, options);
    return { inputs, attributes: { ...affine, axis: options?.axis ?? 1 } };
  },
  infer: ({ inputs: [x, ...parameters], attributes: { axis }, require }) => {
    const channels = x.shape[normalizeAxis('batchNormTraining', axis, x.shape.length)];
    checkParameters('batchNormTraining', parameters, [channels], x.shape, require);
    const statistic = { dtype: x.dtype, shape: [channels] };
    return [x, statistic, statistic];
  },
  gradient: ({ inputs: [x, ...parameters], grads, needs, attributes: options }) => {
    const op = 'batchNormTraining';
    const [g, ofMean, ofVariance] = grads;
    const { shape } = x.type;
    const along = channelShape(op, shape, options.axis);
    const axes = otherAxes(op, shape, options.axis);
    const aligned = (statistic: typeof g): typeof g =>
      statistic === null ? null : reshape(statistic, along);
    const throughStatistics = needs[0]
      ? throughMoments(x, { mean: aligned(ofMean), variance: aligned(ofVariance) }, axes)
      : null;
    if (g === null) return [throughStatistics, ...parameters.map(() => null)];
    const [throughX, ...rest] = affineGradients(parameters, g, needs, options, along, {
      of: () => standardForm.of(x, axes, options.epsilon),
      through: (upstream) => standardForm.through(x, upstream, axes, options.epsilon),
    });
    const both = throughX !== null && throughStatistics !== null;
    return [both ? add(throughX, throughStatistics) : throughX, ...rest];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x, ...parameters], attributes: options }) => {
      const op = 'batchNormTraining';
      const { shape } = x.type;
      const along = channelShape(op, shape, options.axis);
      const axes = otherAxes(op, shape, options.axis);
      const normal = standardForm.of(x, axes, options.epsilon);
      const { mean, variance } = moments(x, axes);
      const flat = [shape[normalizeAxis(op, options.axis, shape.length)]];
      return [
        applyAffine(normal, parameters, options, along),
        reshape(mean, flat),
        reshape(variance, flat),
      ];
    },
  },
  samples: [
    { args: [tensor(['n', 3, 2]), tensor([3]), tensor([3])], least: { n: 1 } },
    { args: [tensor(['n', 2, 'c']), null, tensor(['c']), { axis: -1 }], least: { n: 1 } },
  ],
});

/** The shape in which one number for each channel broadcasts with `x`. */
function channelShape(op: string, shape: Shape, axis: number): Shape {
  const channels = normalizeAxis(op, axis, shape.length);
  return shape.slice(channels).map((dim, at) => (at === 0 ? dim : 1));
}

function otherAxes(op: string, shape: Shape, axis: number): readonly number[] {
  const channels = normalizeAxis(op, axis, shape.length);
  return shape.flatMap((_, at) => (at === channels ? [] : [at]));
}
