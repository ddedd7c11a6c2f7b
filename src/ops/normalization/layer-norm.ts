import * as attr from '../../base/attributes/attribute.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type Call,
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { normalizeAxes } from '../declare/infer.js';
import {
  affineAttributes,
  affineCall,
  affineForm,
  checkParameters,
  type NormalizationOptions,
} from './affine.js';
import { type NormalForm, rootMeanSquareForm, standardForm } from './standardize.js';
import type { OnnxMapping } from '../declare/onnx.js';

export interface LayerNormOptions extends NormalizationOptions {
  /** The axes that are normalized together. Default the last. */
  readonly axes?: number | readonly number[];
}

/** `f(x, gamma?, beta?, options?)`. */
export type LayerNorm = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  gamma?: Input<T> | null,
  beta?: Input<T> | null,
  options?: LayerNormOptions,
) => T;

/** `f(x, gamma?, options?)`. */
export type RmsNorm = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  gamma?: Input<T> | null,
  options?: LayerNormOptions,
) => T;

const attributes = { ...affineAttributes, axes: attr.ints };

/**
 * `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, mean and variance taken over `axes`, the last
 * by default; gamma and beta, either of which may be absent, have the extents of those axes. Integers
 * become float32; statistics of 16-bit floats are computed in float32.
 *
 * Source: Ba, Kiros and Hinton, Layer Normalization, 2016. Throws a `ShapeError` for parameters of
 * another shape.
 */
export const layerNorm: OperatorFunction<LayerNorm> = overAxes<LayerNorm>(
  'layerNorm',
  standardForm,
  callOverAxes,
  [
    { args: [tensor(['n', 4]), tensor([4]), tensor([4])] },
    { args: [tensor(['n', 'm']), tensor(['m']), null, { epsilon: 0.1 }], least: { m: 1 } },
    { args: [tensor(['n', 3, 2]), null, tensor([3, 2]), { axes: [1, -1] }] },
    { args: [tensor(['n', 3, 2]), tensor([3, 1]), tensor([3, 1]), { axes: 1 }] },
    { args: [tensor([2, 'm'])], least: { m: 1 } },
  ],
  ({ onnx, inputs, inputTypes: [{ shape }], attributes: { axes, epsilon, scaled, shifted } }) => {
    const own = normalizeAxes('layerNorm', axes, shape.length);
    const [first = shape.length] = own;
    // ONNX normalizes the last axes, with an epsilon of float32.
    if (own.length === 0 || own.length < shape.length - first || inputs[0].dtype === 'float64') return null; // prettier-ignore
    const [x, ...parameters] = inputs;
    const gamma = scaled ? parameters[0] : onnx.node('Expand', [onnx.scalar(x.dtype, 1), onnx.sizes(shape.slice(first))]); // prettier-ignore
    const operands = shifted ? [x, gamma, parameters[scaled ? 1 : 0]] : [x, gamma];
    return onnx.node('LayerNormalization', operands, { axis: first, epsilon: { float: epsilon } });
  },
);

/**
 * `x / sqrt(mean(x^2) + epsilon) * gamma`, the mean taken over `axes`, the last by default; gamma, which
 * may be absent, has the extents of those axes.
 *
 * Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019. Throws a `ShapeError` for a
 * gamma of another shape.
 */
export const rmsNorm: OperatorFunction<RmsNorm> = overAxes<RmsNorm>(
  'rmsNorm',
  rootMeanSquareForm,
  (x, gamma, options) => callOverAxes(x, gamma, null, options),
  [
    { args: [tensor(['n', 4]), tensor([4])] },
    { args: [tensor(['n', 'm']), null, { epsilon: 0.1 }], least: { m: 1 } },
    { args: [tensor(['n', 3, 2]), tensor([3, 2]), { axes: [1, 2] }] },
  ],
);

/** Declares an operator that normalizes `x` over axes. */
function overAxes<F extends (...args: never[]) => unknown>(
  name: string,
  form: NormalForm,
  call: (...args: Parameters<F>) => Call<AttributesOf<typeof attributes>>,
  samples: readonly Sample[],
  onnx?: OnnxMapping<AttributesOf<typeof attributes>>,
): OperatorFunction<F> {
  return operator<F, typeof attributes>({
    name,
    // Options are the last argument.
    options: { at: call.length - 1, names: ['axes', 'epsilon'] },
    family: 'normalization',
    attributes,
    operands: 'float',
    call,
    infer: ({ inputs: [x, ...parameters], attributes: { axes }, require }) => {
      checkParameters(name, parameters, parameterShape(name, x.shape, axes), x.shape, require);
      return [x];
    },
    ...affineForm<AttributesOf<typeof attributes>>((x, { axes, epsilon }) => ({
      along: parameterShape(name, x.type.shape, axes),
      of: () => form.of(x, axes, epsilon),
      through: (g) => form.through(x, g, axes, epsilon),
    })),
    ...(onnx !== undefined && { onnx }),
    samples,
  });
}

function callOverAxes(
  x: Input<Tensor>,
  gamma?: Input<Tensor> | null,
  beta?: Input<Tensor> | null,
  options?: LayerNormOptions,
): Call<AttributesOf<typeof attributes>> {
  const { inputs, attributes: affine } = affineCall(x, gamma, beta, options);
  const axes = options?.axes ?? -1;
  return { inputs, attributes: { ...affine, axes: typeof axes === 'number' ? [axes] : axes } };
}

/** The shape of parameters: the normalized extents, 1 on other axes after the first of them. */
function parameterShape(op: string, x: Shape, axes: readonly number[]): Shape {
  const own = normalizeAxes(op, axes, x.length);
  const first = own[0] ?? x.length;
  return x.slice(first).map((dim, at) => (own.includes(first + at) ? dim : 1));
}
