import * as attr from '../../../base/attributes/attribute.js';
import { InternalError } from '../../../base/errors.js';
import type { Shape, Tensor, TensorType } from '../../../ir/types.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import {
  type GradientStepNest,
  keyGradientStep,
  queryGradientStep,
  statisticsOfQuery,
  statisticsStep,
} from './gradient.js';
import { kernelCall } from '../choices.js';
import { tileOf, widthsOf } from './tile.js';

/*
 * The dispatches of the gradient of attention. They are calls that only the expansion of the gradient makes: no
 * operators of the library, so that they have no samples.
 */

const attributes = { causal: attr.bool, scale: attr.optional(attr.number) };

/** A call of q, k, v, g and others, with a mask or without. */
type GradientStep<R> = <T extends Tensor>(
  operands: readonly Input<T>[],
  options: AttentionAttributes,
) => R extends 'one' ? T : readonly T[];

function step<R extends 'one' | 'list'>(
  name: string,
  results: R,
  infer: (types: readonly TensorType[]) => readonly TensorType[],
  { work: workOf, isOfKeys, nest }: GradientStepNest,
): OperatorFunction<GradientStep<R>> {
  const made: OperatorFunction<GradientStep<R>> = operator({
    name,
    family: 'normalization',
    attributes,
    results,
    operands: 'keep',
    precision: 'float32',
    call: (operands, { causal, scale }) => ({ inputs: operands, attributes: { causal, scale } }),
    infer: ({ inputs }) => infer(inputs),
    gradient: 'none',
    lowering: {
      kind: 'kernel',
      readsAnyOrder: true,
      kernel: (context) => {
        const { inputs } = context;
        const [q, k, v, g] = inputs;
        const widths = widthsOf(q, v);
        if (widths === null) throw new InternalError(`${name} of heads of unknown width`);
        const work = workOf(widths);
        const rows = (isOfKeys ? k : q).shape.at(-2)!;
        const tile = tileOf(kernelCall(made, context), work, inputs, g.shape.slice(0, -2), rows);
        if (tile === null) throw new InternalError(`${name} of wide heads`);
        return nest(context, work, tile);
      },
    },
    samples: [],
  });
  return made;
}

const leading = ({ shape }: TensorType): Shape => shape.slice(0, -2);

/** The numbers from which each query knows its weights, see `statisticsOfQuery`. */
export const attentionStatistics: OperatorFunction<GradientStep<'one'>> = step(
  'attentionStatistics',
  'one',
  ([q, , , g]) => [
    { dtype: q.dtype === 'float64' ? 'float64' : 'float32', shape: [...leading(g), q.shape.at(-2)!, statisticsOfQuery] },
  ],
  statisticsStep,
); // prettier-ignore

export const attentionQueryGradient: OperatorFunction<GradientStep<'one'>> = step(
  'attentionQueryGradient',
  'one',
  ([q, , , g]) => [{ dtype: q.dtype, shape: [...leading(g), ...q.shape.slice(-2)] }],
  queryGradientStep,
);

export const attentionKeyGradient: OperatorFunction<GradientStep<'list'>> = step(
  'attentionKeyGradient',
  'list',
  ([, k, v, g]) =>
    [k, v].map(({ dtype, shape }) => ({ dtype, shape: [...leading(g), ...shape.slice(-2)] })),
  keyGradientStep,
);
