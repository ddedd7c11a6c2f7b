import * as attr from '../../../base/attributes/attribute.js';
import { InternalError } from '../../../base/errors.js';
import type { Shape, Tensor, TensorType } from '../../../ir/types.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import {
  type AttentionAttributes,
  attentionScalar,
} from '../../../ops/normalization/attention-nests.js';
import {
  gradientMemory,
  keyGradientNest,
  queryGradientNest,
  statisticsNest,
  statisticsOfQuery,
} from './gradient.js';
import { kernelCall } from '../choices.js';
import { type HeadWidths, sideOf, type TileSide, widthsOf } from './tiles.js';

/*
 * The dispatches of the gradient of attention. They are calls that only the expansion of the gradient makes: no
 * operators of the library, so that they have no samples.
 */

const attributes = { causal: attr.bool, scale: attr.optional(attr.number) };

type Nest = (
  context: KernelContext<AttentionAttributes>,
  widths: HeadWidths,
  side: TileSide,
) => Stmt;

/** A call of q, k, v, g and others, with a mask or without. */
type GradientStep<R> = <T extends Tensor>(
  operands: readonly Input<T>[],
  options: AttentionAttributes,
) => R extends 'one' ? T : readonly T[];

function step<R extends 'one' | 'list'>(
  name: string,
  results: R,
  infer: (types: readonly TensorType[]) => readonly TensorType[],
  nest: Nest,
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
        const [q, , v] = context.inputs;
        const widths = widthsOf(q, v);
        const side =
          widths && sideOf(kernelCall(made, context), widths, gradientMemory, attentionScalar(q));
        if (widths === null || side === null) throw new InternalError(`${name} of wide heads`);
        return nest(context, widths, side);
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
  statisticsNest,
); // prettier-ignore

export const attentionQueryGradient: OperatorFunction<GradientStep<'one'>> = step(
  'attentionQueryGradient',
  'one',
  ([q, , , g]) => [{ dtype: q.dtype, shape: [...leading(g), ...q.shape.slice(-2)] }],
  queryGradientNest,
);

export const attentionKeyGradient: OperatorFunction<GradientStep<'list'>> = step(
  'attentionKeyGradient',
  'list',
  ([, k, v, g]) =>
    [k, v].map(({ dtype, shape }) => ({ dtype, shape: [...leading(g), ...shape.slice(-2)] })),
  keyGradientNest,
);
