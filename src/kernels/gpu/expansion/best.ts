import { sameShape } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { argmax, argmin, max, min, reshape } from '../../../ops/index.js';
import { positionSteps } from '../folds/best.js';
import { inParts } from '../folds/parts.js';
import { foldParts, neutralOf } from './split.js';

/**
 * The expansion of a reduction to positions of few results over many elements, as of other folds; `extremum` is the
 * reduction to the elements there.
 */
function splitPositions(operator: Operator, extremum: Operator): readonly [Operator, DeviceExpansion] {
  const { ofParts, ofBests } = positionSteps(operator);
  const { lowering } = declarationOf(operator);
  if (lowering.kind !== 'reduce') throw new InternalError(`${operator.name} is not a fold`);
  const joined = (parts: Value, length: number): Value => {
    const [bests, positions] = ofParts(parts);
    return ofBests(bests, positions, length);
  };
  const uneven = (x: Value, length: number): Value | null => {
    const neutral = neutralOf(extremum, x.type.dtype);
    // Of equal elements the first one counts, which is no filling.
    return neutral === null ? null : joined(inParts(x, length, neutral), length);
  };
  const expansion: DeviceExpansion = ({ attributes, inputs: [x], outputTypes: [{ shape }] }) => {
    const axes = lowering.axes(attributes, x.type.shape.length);
    if (axes.length === 0 || shape.includes(0)) return null;
    const positions = foldParts(x, axes, joined, uneven);
    if (positions === null) return null;
    return [sameShape(positions.type.shape, shape) ? positions : reshape(positions, shape)];
  };
  return [operator, expansion];
} // prettier-ignore

/** The expansions of reductions to positions. */
export const bestExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  splitPositions(argmax.declaration, max.declaration),
  splitPositions(argmin.declaration, min.declaration),
];
