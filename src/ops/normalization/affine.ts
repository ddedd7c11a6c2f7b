import type { Attribute } from '../../base/attributes/attribute.js';
import * as attr from '../../base/attributes/attribute.js';
import { equalSizes, type Refusal, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import type { Gradient, Input } from '../declare/declare.js';
import type { Decomposition } from '../declare/lowering.js';
import type { OnnxAttributes, OnnxCall, OnnxValue } from '../declare/onnx.js';
import { add, mul } from '../elementwise/arithmetic.js';
import { reshaped } from '../movement/reshape.js';
import { sumTo } from '../reduction/sum.js';

/*
 * What normalizations do after the normal form: a learned scale (gamma) and shift (beta), either of which
 * may be absent. The operands of such an operator are x, then those that are present.
 */

export interface NormalizationOptions {
  /** Added to the variance (or mean square) before its root is taken. Default 1e-5. */
  readonly epsilon?: number;
}

/** Default of the number added to the variance. */
export const defaultEpsilon = 1e-5;

/** Parameters among an operator's operands. */
export interface Affine {
  readonly scaled: boolean;
  readonly shifted: boolean;
}

export const affineAttributes: {
  readonly epsilon: Attribute<number>;
  readonly scaled: Attribute<boolean>;
  readonly shifted: Attribute<boolean>;
} = { epsilon: attr.number, scaled: attr.bool, shifted: attr.bool };

/** The operands that are present, and their roles. */
export function affineCall(
  x: Input<Tensor>,
  gamma: Input<Tensor> | null | undefined,
  beta: Input<Tensor> | null | undefined,
  options: NormalizationOptions | undefined,
): {
  readonly inputs: readonly Input<Tensor>[];
  readonly attributes: Affine & { readonly epsilon: number };
} {
  const scale = gamma ?? null;
  const shift = beta ?? null;
  return {
    inputs: [x, ...(scale === null ? [] : [scale]), ...(shift === null ? [] : [shift])],
    attributes: {
      epsilon: options?.epsilon ?? defaultEpsilon,
      scaled: scale !== null,
      shifted: shift !== null,
    },
  };
}

/** Refuses parameters of another shape than `wanted`. */
export function checkParameters(
  op: string,
  parameters: readonly TensorType[],
  wanted: Shape,
  x: Shape,
  require: Require,
): void {
  for (const { shape } of parameters) {
    const refusal = (): Refusal => ({
      op,
      problem: words`a parameter does not fit`,
      expected: words`gamma and beta of shape ${wanted}, for x of shape ${x}`,
      actual: words`${shape}`,
    });
    require(shape.length === wanted.length, refusal);
    shape.forEach((extent, axis) => require(equalSizes(extent, wanted[axis]), refusal));
  }
}

/** `normal * gamma + beta`; `along` is the shape in which the parameters broadcast. */
export function applyAffine<T extends Tensor>(
  normal: T,
  parameters: readonly T[],
  { scaled, shifted }: Affine,
  along: Shape,
): T {
  const [first, second] = parameters.map((parameter) => reshaped(parameter, along));
  const result = scaled ? mul(normal, first) : normal;
  return shifted ? add(result, scaled ? second : first) : result;
}

/** The normalized form of `x`, computed lazily, and its backward function. */
interface Normal<T> {
  of(): T;
  through(g: T): T;
}

/** A normalization of an operand, and the shape in which its parameters broadcast. */
interface AffineForm<T> extends Normal<T> {
  readonly along: Shape;
}

/** Gradient and lowering of a normalization with parameters, from the form that it has for an operand. */
export function affineForm<A extends Affine>(
  formOf: <T extends Tensor>(x: T, attributes: A) => AffineForm<T>,
): { readonly gradient: Gradient<A>; readonly lowering: Decomposition<A> } {
  return {
    gradient: ({ inputs: [x, ...parameters], grads: [g], needs, attributes }) => {
      const form = formOf(x, attributes);
      return affineGradients(parameters, g!, needs, attributes, form.along, form);
    },
    lowering: {
      kind: 'decompose',
      decompose: ({ inputs: [x, ...parameters], attributes }) => {
        const form = formOf(x, attributes);
        return [applyAffine(form.of(), parameters, attributes, form.along)];
      },
    },
  };
}

/** The gradients of x and the parameters. */
export function affineGradients<T extends Tensor>(
  parameters: readonly T[],
  g: T,
  needs: readonly boolean[],
  { scaled, shifted }: Affine,
  along: Shape,
  normal: Normal<T>,
): readonly (T | null)[] {
  const upstream = scaled ? mul(g, reshaped(parameters[0], along)) : g;
  const toParameter = (gradient: T, at: number): T =>
    reshaped(sumTo(gradient, along), parameters[at].type.shape);
  return [
    needs[0] ? normal.through(upstream) : null,
    ...(scaled ? [needs[1] ? toParameter(mul(g, normal.of()), 0) : null] : []),
    ...(shifted ? [needs.at(-1)! ? toParameter(g, scaled ? 1 : 0) : null] : []),
  ];
}

/** The shape in which one number for each channel broadcasts with `[N, C, ...size]`. */
export function alongChannels([, channels, ...size]: Shape): Shape {
  return [channels, ...size.map(() => 1)];
}

/** A normalization of ONNX with a scale and a shift for each channel; its epsilon is float32, so null for float64. */
export function affineInOnnx(
  type: string,
  { onnx, inputs, inputTypes, attributes }: OnnxCall<Affine & { readonly epsilon: number }>,
  others: OnnxAttributes = {},
): OnnxValue | null {
  const [x, ...parameters] = inputs;
  if (x.dtype === 'float64') return null;
  const { epsilon, scaled, shifted } = attributes;
  const alike = (value: number): OnnxValue =>
    onnx.node('Expand', [onnx.scalar(x.dtype, value), onnx.sizes([inputTypes[0].shape[1]])]);
  const scale = scaled ? parameters[0] : alike(1);
  const shift = shifted ? parameters[scaled ? 1 : 0] : alike(0);
  return onnx.node(type, [x, scale, shift], { ...others, epsilon: { float: epsilon } });
}
