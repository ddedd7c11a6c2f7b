import {
  type Dim,
  elementCount,
  floorDivDim,
  isMultipleOf,
  isStatic,
} from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Program, Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { iota } from '../../../ops/movement/fill.js';
import { add, reshape, scatterAdd, takeAdjoint } from '../../../ops/index.js';
import type { IndexMode } from '../../../ops/indexing/position.js';
import { normalizedPositions, sumsByPosition } from '../scatter/segments.js';
import { areSelected } from './positions.js';
import { sortedPositions } from './sort.js';

/*
 * Scatters of many contributions by a sort of their positions, where these do not ascend anyway: each element of the
 * result then finds its own in a binary search, in the order in which they came. Few are compared with all elements in one dispatch (`scatter.ts`).
 */

/** Contributions, and comparisons, up to which all are compared. */
const fewContributions = 512;
const fewComparisons = 2 ** 22;

/** The same for contributions of unknown number: elements for each of them, and a number to count on. */
const fewElements = 16;
const usualContributions = 2 ** 12;

/** The least coefficient of a dimension, which grows with it. */
function coefficientOf(dim: Dim): number {
  return isStatic(dim) ? dim : Math.min(...dim.terms.map(({ coefficient }) => coefficient));
}

/** True for so many contributions to so many elements that their positions are worth a sort. */
function isWorthSorting(contributions: Dim, result: Shape): boolean {
  const elements = elementCount(result);
  if (!isStatic(contributions)) {
    return isMultipleOf(elements, contributions)
      ? coefficientOf(floorDivDim(elements, contributions)) > fewElements
      : coefficientOf(elements) > fewElements * usualContributions;
  }
  if (contributions < fewContributions) return false;
  return !isStatic(elements) || contributions * elements > fewComparisons;
}

/** Sums, along the middle axis of a result of this shape, of the slices of `x` that have one position. */
function summed(
  x: Value,
  positions: Value,
  shape: readonly [Dim, Dim, Dim],
  mode: IndexMode,
): Value {
  const [before, size, behind] = shape;
  const count = elementCount(positions.type.shape);
  const counted = normalizedPositions(reshape(positions, [count]), size, mode);
  const order = areSelected(positions)
    ? inOrder(positions.program, count)
    : sortedPositions(counted, 0, false);
  return sumsByPosition(reshape(x, [before, count, behind]), counted, order, size);
}

/** The order of positions that ascend. */
function inOrder(program: Program, length: Dim): Value {
  return program.append(iota.declaration, [], { length, start: 0, step: 1, dtype: 'int32' })[0];
}

interface AdjointAttributes {
  readonly shape: Shape;
  readonly axis: number | null;
  readonly mode: IndexMode;
}

/** Gradients of what was taken: of embeddings, above all. */
const adjointExpansion: DeviceExpansion<AdjointAttributes> = ({
  attributes: { shape, axis, mode },
  inputs: [g, indices],
}) => {
  const isWorth = areSelected(indices) || isWorthSorting(elementCount(indices.type.shape), shape);
  if (!isWorth) return null;
  const along = axis === null ? 0 : axis < 0 ? axis + shape.length : axis;
  const [before, size, behind] =
    axis === null
      ? [1, elementCount(shape), 1]
      : [elementCount(shape.slice(0, along)), shape[along], elementCount(shape.slice(along + 1))];
  return [reshape(summed(g, indices, [before, size, behind], mode), shape)];
};

/** Sums of elements of rank 1. */
const additionExpansion: DeviceExpansion = ({ inputs: [x, indices, updates] }) => {
  const { shape } = x.type;
  if (shape.length !== 1 || !isWorthSorting(indices.type.shape[0], shape)) return null;
  const wide = [1, shape[0], 1] as const;
  return [reshape(add(reshape(x, wide), summed(updates, indices, wide, 'error')), shape)];
};

/** The expansions of scatters. */
export const scatterExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [takeAdjoint.declaration, adjointExpansion as DeviceExpansion<never> as DeviceExpansion],
  [scatterAdd.declaration, additionExpansion],
];
