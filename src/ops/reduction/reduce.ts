import * as attr from '../../base/attributes/attribute.js';
import { minDim, elementCount } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import { atLeast, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type Conversion,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import type { Batching } from '../declare/batch.js';
import { normalizeAxes, reducedShape } from '../declare/infer.js';
import type { Law } from '../declare/law.js';
import type { Decomposition, ReduceLowering } from '../declare/lowering.js';
import { reshape } from '../movement/reshape.js';
import type { OnnxCall, OnnxValue } from '../declare/onnx.js';
import { axisList, type Reduction } from '../signatures.js';

/** Common part of the declarations of reductions. */

export interface ReductionAttributes {
  /** Null means all. */
  readonly axes: readonly number[] | null;
  readonly keepdims: boolean;
}

interface GradientOf<T extends Tensor> extends ReductionAttributes {
  /** The gradient of the result. */
  readonly g: T;
  readonly x: T;
  readonly result: T;
}

interface ReductionSpec {
  readonly name: string;
  /** Default `keep`. */
  readonly operands?: Conversion;
  /** The dtype of the result. Default: the operand's. */
  readonly result?: DType | ((dtype: DType) => DType);
  /** True when the reduction of no elements has a result. Default true. */
  readonly ofNothing?: boolean;
  /** The gradient of `x`; `zero` when there is none. */
  readonly gradient: 'none' | 'zero' | (<T extends Tensor>(context: GradientOf<T>) => T);
  readonly lowering: Omit<ReduceLowering<ReductionAttributes>, 'kind' | 'axes'> | Decomposition<ReductionAttributes>; // prettier-ignore
  /** The ONNX operator that reduces operands of the result's dtype, or nodes. */
  readonly onnx?: string | ((call: OnnxCall<ReductionAttributes>) => OnnxValue);
  /** True when the reduction of sums is the sum of reductions. Default false. */
  readonly isLinear?: boolean;
  /** Default none. */
  readonly simplify?: readonly Law<ReductionAttributes>[];
  /** Default `reductionSamples`. */
  readonly samples?: readonly Sample[];
}

export const reductionSamples: readonly Sample[] = [
  { args: [tensor(['n', 'm'])] },
  { args: [tensor(['n', 'm']), 1, { keepdims: true }] },
  { args: [tensor(['n', 3, 'm']), [0, -1]] },
  { args: [tensor(['n', 'm'], { dtype: 'int32', low: -9, high: 9 }), 0] },
  { args: [tensor([], { dtype: 'float64' })] },
];

/** The samples for a reduction that needs at least one element. */
const nonEmptySamples: readonly Sample[] = reductionSamples.map((sample) => ({
  ...sample,
  least: { n: 1, m: 1 },
}));

/** The samples for a reduction that has a result, but no derivative, where there are no elements. */
export const undefinedWhenEmptySamples: readonly Sample[] = [
  ...nonEmptySamples,
  { args: [tensor(['n', 'm']), 1], differentiable: false }, // infinite or NaN when m is 0
];

/** Declares `f(x, axis?, { keepdims })`. */
export function reduction(spec: ReductionSpec): OperatorFunction<Reduction> {
  const {
    name,
    operands = 'keep',
    ofNothing = true,
    gradient,
    lowering,
    onnx,
    simplify = [],
  } = spec;
  const { samples = ofNothing ? reductionSamples : nonEmptySamples } = spec;
  const batch: Batching<ReductionAttributes> = {
    isLinear: spec.isLinear ?? false,
    rows: ({ inputs: [x], attributes: { axes, keepdims } }) => [
      self(x, axesInRows(name, axes, x), { keepdims }),
    ],
    ...(spec.isLinear === true && {
      total: ({ inputs: [x], attributes: { axes }, outputTypes: [{ shape }] }) =>
        reshape(self(x, [0, ...axesInRows(name, axes, x)]), shape),
    }),
  };
  const self: OperatorFunction<Reduction> = operator({
    name,
    options: { at: 2, names: ['keepdims'] },
    family: 'reduction',
    attributes: { axes: attr.optional(attr.ints), keepdims: attr.bool },
    operands,
    call: (x, axis, options) => ({
      inputs: [x],
      attributes: { axes: axisList(axis), keepdims: options?.keepdims ?? false },
    }),
    infer: ({ inputs: [x], attributes: { axes, keepdims }, require }) => {
      const folded = normalizeAxes(name, axes, x.shape.length);
      const shape = reducedShape(x.shape, folded, keepdims);
      if (!ofNothing) checkNotEmpty(name, x.shape, folded, require);
      const dtype = typeof spec.result === 'function' ? spec.result(x.dtype) : (spec.result ?? x.dtype); // prettier-ignore
      return [{ dtype, shape }];
    },
    gradient:
      gradient === 'none'
        ? 'none'
        : ({ inputs: [x], outputs, grads: [g], attributes }) => [
            gradient === 'zero'
              ? null
              : gradient({
                  g: g!,
                  x,
                  // Lazy, since the result may have to be recomputed.
                  get result() {
                    return outputs[0];
                  },
                  ...attributes,
                }),
          ],
    lowering:
      'kind' in lowering
        ? lowering
        : {
            kind: 'reduce',
            axes: ({ axes }, rank) => normalizeAxes(name, axes, rank),
            ...lowering,
          },
    ...(typeof onnx === 'string' && {
      onnx: ({
        onnx: writer,
        inputs: [x],
        inputTypes,
        outputTypes,
        attributes,
      }: OnnxCall<ReductionAttributes>) => {
        const axes = normalizeAxes(name, attributes.axes, inputTypes[0].shape.length);
        const converted = writer.cast(x, outputTypes[0].dtype);
        return writer.reduce(onnx, converted, axes, attributes.keepdims);
      },
    }),
    ...(typeof onnx === 'function' && { onnx }),
    batch,
    simplify,
    samples,
  });
  return self;
}

/** The reduced axes of each row, as axes of all rows. */
function axesInRows(name: string, axes: readonly number[] | null, rows: Tensor): number[] {
  return normalizeAxes(name, axes, rows.type.shape.length - 1).map((axis) => axis + 1);
}

/** Refuses a reduction of no elements to at least one result. */
export function checkNotEmpty(
  op: string,
  shape: Shape,
  folded: readonly number[],
  require: Require,
): void {
  const count = elementCount(folded.map((axis) => shape[axis]));
  const results = elementCount(shape.filter((_, axis) => !folded.includes(axis)));
  require(atLeast(count, minDim(results, 1)), () => ({
    op,
    problem: words`there is no element to choose from`,
    expected: words`reduced axes with at least one element`,
    actual: words`${shape}`,
  }));
}
