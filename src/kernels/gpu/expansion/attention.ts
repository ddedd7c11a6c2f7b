import type { Operator } from '../../../ir/operator.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import { attentionGradient } from '../../../ops/index.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import { gradientMemory } from '../attention/gradient.js';
import {
  attentionKeyGradient,
  attentionQueryGradient,
  attentionStatistics,
} from '../attention/steps.js';
import { sidesFor } from '../attention/tiles.js';

/** The gradient of attention in three dispatches; as it is where heads are too wide for a workgroup. */
const gradientExpansion: DeviceExpansion<AttentionAttributes> = ({ attributes, inputs }) => {
  const [q, , v] = inputs;
  const [size, channels] = [q, v].map(({ type: { shape } }) => shape.at(-1)!);
  if (typeof size !== 'number' || typeof channels !== 'number') return null;
  const scalar = computeScalar(q.type.dtype) === 'f64' ? 'f64' : 'f32';
  if (sidesFor({ size, channels }, gradientMemory, scalar).length === 0) return null;
  const [given, mask] = [inputs.slice(0, 4), inputs.slice(4)];
  const statistics = attentionStatistics([...given, ...mask], attributes);
  const operands = [...given, statistics, ...mask];
  const ofQueries = attentionQueryGradient(operands, attributes);
  return [ofQueries, ...attentionKeyGradient(operands, attributes)];
};

/** The expansions of attention. */
export const attentionExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [attentionGradient.declaration, gradientExpansion as DeviceExpansion<never> as DeviceExpansion],
];
