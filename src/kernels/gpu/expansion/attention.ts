import { isNarrowFloat } from '../../../base/dtype.js';
import { boundsOf, isStatic } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { computeScalar, type DecomposeContext } from '../../../ops/declare/lowering.js';
import { attention, attentionGradient, cast, mul } from '../../../ops/index.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import { forwardWork } from '../attention/attention.js';
import { keyGradientStep, queryGradientStep, statisticsStep } from '../attention/gradient.js';
import { usualScale } from '../attention/scale.js';
import { attentionKeyGradient, attentionQueryGradient, attentionStatistics } from '../attention/steps.js'; // prettier-ignore
import { type HeadWidths, attentionTiles, type TileWork } from '../attention/tile.js';

/** Scores that are stored at once; more of them are computed where they are used. */
const mostScores = 2 ** 28;

/** The way of a call whose heads have these widths: by products where they are not known, and of empty heads as it is. */
function wayOf([q, , v]: readonly Value[], works: readonly ((widths: HeadWidths) => TileWork)[]): 'workgroups' | 'products' | 'as it is' {
  const [size, channels] = [q, v].map(({ type: { shape } }) => shape.at(-1)!);
  if (size === 0 || channels === 0 || computeScalar(q.type.dtype) === 'f64') return 'as it is';
  if (!isStatic(size) || !isStatic(channels)) return 'products';
  const fit = works.every((work) => attentionTiles(work({ size, channels })).length > 0);
  return fit ? 'workgroups' : 'products';
} // prettier-ignore

/**
 * Attention, or its gradient, by products and a softmax of all scores, in float32; null where these are too many. Heads
 * that are too wide for a workgroup, or of which nobody knows how wide they are, have tiles of products that way, and a
 * query or two products of few rows.
 */
function composed(operator: { readonly declaration: Operator }): DeviceExpansion<AttentionAttributes> {
  const { onnx } = declarationOf(operator.declaration);
  if (typeof onnx !== 'object' || !('composed' in onnx)) throw new InternalError('attention is composed of other operators'); // prettier-ignore
  return ({ attributes, inputs, outputTypes }) => {
    const [q, k] = inputs;
    const scores = [...outputTypes[0].shape.slice(0, -2), ...[q, k].map(({ type }) => type.shape.at(-2)!)];
    if (scores.every(isStatic) && scores.reduce((a, b) => a * b, 1) > mostScores) return null;
    const wide = inputs.map((each) => (isNarrowFloat(each.type.dtype) ? cast(each, 'float32') : each));
    const types = outputTypes.map(({ dtype, shape }) => ({ dtype: isNarrowFloat(dtype) ? ('float32' as const) : dtype, shape }));
    const of = (scale: number | null, inputs: readonly Value[]): readonly Value[] =>
      onnx.composed<Value>({ attributes: { ...attributes, scale }, inputs, outputTypes: types });
    const isOpen = attributes.scale === null && !isStatic(q.type.shape.at(-1)!);
    if (!isOpen) return of(attributes.scale, wide).map((each, i) => cast(each, outputTypes[i].dtype));
    // Queries are scaled in the place of scores, and so is their gradient, which is the first of several.
    const scale = usualScale(wide[0]);
    const scaled = of(1, [mul(wide[0], scale), ...wide.slice(1)]);
    return scaled.map((each, i) => cast(i === 0 && scaled.length > 1 ? mul(each, scale) : each, outputTypes[i].dtype));
  };
} // prettier-ignore

/** Queries of a head for which reading keys and values is most of the work, and keys of which there is enough to divide. */
const fewQueries = 2;
const manyKeys = 512;

/**
 * True for a query or two that see many keys, as where tokens are decoded: a workgroup would read all keys of a head, for a
 * tile whose rows are mostly empty. Products of few rows divide the keys among workgroups, and their scores are fewer than
 * the elements of the keys.
 */
function isDecoding({ attributes: { causal }, inputs: [q, k] }: DecomposeContext<Value, AttentionAttributes>): boolean {
  const [queries, keys] = [q, k].map(({ type: { shape } }) => shape.at(-2)!);
  return !causal && isStatic(queries) && queries <= fewQueries && boundsOf(keys).max >= manyKeys;
} // prettier-ignore

const composedAttention = composed(attention);
const composedGradient = composed(attentionGradient);

const attentionExpansion: DeviceExpansion<AttentionAttributes> = (context) => {
  const way = wayOf(context.inputs, [forwardWork]);
  const isComposed = way === 'products' || (way === 'workgroups' && isDecoding(context));
  return isComposed ? composedAttention(context) : null;
};

const gradientSteps = [statisticsStep, queryGradientStep, keyGradientStep].map(({ work }) => work);

/** The gradient of attention in three dispatches. */
const gradientExpansion: DeviceExpansion<AttentionAttributes> = (context) => {
  const { attributes, inputs } = context;
  const way = wayOf(inputs, gradientSteps);
  if (way !== 'workgroups') return way === 'products' ? composedGradient(context) : null;
  const [given, mask] = [inputs.slice(0, 4), inputs.slice(4)];
  const statistics = attentionStatistics([...given, ...mask], attributes);
  const operands = [...given, statistics, ...mask];
  const ofQueries = attentionQueryGradient(operands, attributes);
  return [ofQueries, ...attentionKeyGradient(operands, attributes)];
};

/** The expansions of attention. */
export const attentionExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [attention.declaration, attentionExpansion as DeviceExpansion<never> as DeviceExpansion],
  [attentionGradient.declaration, gradientExpansion as DeviceExpansion<never> as DeviceExpansion],
];
