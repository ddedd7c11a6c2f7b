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
import { add, mul, reshape, scatter, scatterAdd, takeAdjoint } from '../../../ops/index.js';
import type { IndexMode } from '../../../ops/indexing/position.js';
import { lastByPosition, normalizedPositions, sumsByPosition } from '../scatter/segments.js';
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

/** Positions among all elements of an array, of rank 1, for positions along an axis; null where a size is not known. */
function flatPositions(indices: Value, shape: Shape, axis: number): Value | null {
  const counted = normalizedPositions(indices, shape[axis], 'error');
  if (shape.length === 1) return counted;
  const extents = indices.type.shape;
  if (!shape.every(isStatic) || !extents.every(isStatic)) return null;
  if (shape.reduce((a, b) => a * b, 1) >= 2 ** 31) return null;
  const stride = (k: number): number => shape.slice(k + 1).reduce((a, b) => a * b, 1);
  const places = extents.map((extent, k) => {
    if (k === axis) return mul(counted, stride(k));
    const steps = { length: extent, start: 0, step: stride(k), dtype: 'int32' };
    const [along] = indices.program.append(iota.declaration, [], steps);
    return reshape(along, extents.map((_, at) => (at === k ? extent : 1))); // prettier-ignore
  });
  return reshape(places.reduce((a, b) => add(a, b)), [elementCount(extents)]); // prettier-ignore
}

/** Updates of elements along an axis: the sums of those that meet in one, or the last of them. */
function updateExpansion(combine: 'add' | 'set'): DeviceExpansion<{ readonly axis: number }> {
  return ({ inputs: [x, indices, updates], attributes: { axis } }) => {
    const { shape } = x.type;
    const along = axis < 0 ? axis + shape.length : axis;
    if (!isWorthSorting(indices.type.shape[along], shape)) return null;
    const positions = flatPositions(indices, shape, along);
    if (positions === null) return null;
    const [count, size] = [positions.type.shape[0], elementCount(shape)];
    const order = sortedPositions(positions, 0, false);
    const flat = reshape(updates, [count]);
    if (combine === 'set') return [reshape(lastByPosition(reshape(x, [size]), flat, positions, order), shape)];
    const sums = sumsByPosition(reshape(updates, [1, count, 1]), positions, order, size);
    return [reshape(add(reshape(x, [1, size, 1]), sums), shape)];
  };
} // prettier-ignore

/** The expansions of scatters. */
export const scatterExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [takeAdjoint.declaration, adjointExpansion as DeviceExpansion<never> as DeviceExpansion],
  [scatterAdd.declaration, updateExpansion('add') as DeviceExpansion<never> as DeviceExpansion],
  [scatter.declaration, updateExpansion('set') as DeviceExpansion<never> as DeviceExpansion],
];
