import { type DType, isNarrowFloat } from '../../../base/dtype.js';
import { boundsOf, elementCount, isStatic, sameShape } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { turnedFrom } from '../../../ops/movement/transpose.js';
import { inParts } from '../folds/parts.js';
import { chosenCandidate } from '../choices.js';
import { dimLike } from '../../../ops/movement/fill.js';
import { cast, div, matmul, mean, reshape, sum, swapaxes } from '../../../ops/index.js';
import { countTrue } from '../../../ops/reduction/lowered.js';
import { registry } from '../../../ops/registry.js';

/*
 * Work of few results over many elements as two dispatches: parts of a fold fill a GPU, which the workgroup of a result
 * does not. Parts and their order follow from the sizes alone. Where nothing divides a size, or it is not known, the last
 * part is filled up.
 */

/** Workgroups of a fold up to which it is split, and elements from which on. */
const fewGroups = 32;
const manyElements = 2 ** 16;

/** Results of a workgroup where neighbors in memory are of different results. */
const resultsOfColumns = 16;

/** Parts of a fold: enough to fill a GPU, with elements enough for a workgroup each. */
const fewestParts = 16;
const mostParts = 256;
const leastOfPart = 1024;
const leastOfColumns = 64;

/** Elements of a part of rows and columns of unknown length. */
const usualPart = 2 ** 14;
const usualPartOfColumns = 256;

/** The greatest number of equal parts of a size, at most `most` of `least` each; 1 where there is none. */
function partsOf(size: number, most: number, least: number): number {
  for (let parts = Math.min(most, Math.floor(size / least)); parts > 1; parts--) {
    if (size % parts === 0) return parts;
  }
  return 1;
}

/** The product of a static shape; null for others. */
function countOf(shape: Shape): number | null {
  return shape.every(isStatic) ? Number(elementCount(shape)) : null;
}

type Fold = (x: Value, axes: readonly number[]) => Value;

/**
 * The expansion of a fold: `fold` of equal parts is the fold of all. Parts are those of an axis where there are several,
 * since what comes before a fold is then computed with it. Narrow floats are folded in float32, as they are by one kernel.
 */
function splitFold(
  declaration: Operator,
  fold: Fold,
  uneven: UnevenFold,
): readonly [Operator, DeviceExpansion] {
  const { lowering } = declarationOf(declaration);
  if (lowering.kind !== 'reduce') throw new InternalError(`${declaration.name} is not a fold`);
  const expansion: DeviceExpansion = ({ attributes, inputs: [given], outputTypes: [{ dtype, shape }] }) => {
    const all = given.type.shape;
    const axes = lowering.axes(attributes, all.length);
    if (axes.length === 0) return null;
    if (given.type.dtype === 'bool' && dtype !== 'bool') {
      return declaration === sum.declaration ? counted(given, axes, shape) : null;
    }
    // Conditions of loops are folds of few truth values.
    const bounded: UnevenFold = (x, length) => (boundsOf(x.type.shape[1]).max === Infinity ? null : uneven(x, length));
    const total = splitTotal(given, axes, shape, (x, over) => fold(widened(x), over), dtype === 'bool' ? bounded : uneven);
    return total === null ? null : [total.type.dtype === dtype ? total : cast(total, dtype)];
  };
  return [declaration, expansion];
} // prettier-ignore

/** A fold to results of a shape by parts; null where one kernel does as well. */
function splitTotal(x: Value, axes: readonly number[], shape: Shape, fold: Fold, uneven: UnevenFold): Value | null {
  const results = countOf(shape);
  if (results === null || results === 0) return null;
  const total = (results <= fewGroups ? foldAxes(x, axes, fold) : null) ?? foldParts(x, axes, (parts) => ofParts(fold(parts, [2]), fold), uneven);
  return total === null || sameShape(total.type.shape, shape) ? total : reshape(total, shape);
} // prettier-ignore

/** The number of true elements, in int32: 64 bits are pairs of words, which some devices do not have. */
function counted(x: Value, axes: readonly number[], shape: Shape): readonly Value[] {
  const fold: Fold = (of, over) => countTrue(of, over);
  const total = splitTotal(x, axes, shape, fold, unevenFold(countTrue.declaration, fold));
  const keepdims = shape.length === x.type.shape.length;
  return [cast(total ?? countTrue(x, axes, { keepdims }), 'int64')];
}

/** Narrow floats as float32. */
function widened(x: Value): Value {
  return isNarrowFloat(x.type.dtype) ? cast(x, 'float32') : x;
}

/** A fold of the last axes and then of the first ones; null where one of the two has too little to do. */
function foldAxes(x: Value, axes: readonly number[], fold: Fold): Value | null {
  const length = countOf(axes.map((axis) => x.type.shape[axis]));
  if (length !== null && length < manyElements) return null;
  for (let cut = 1; cut < axes.length; cut++) {
    const [first, last] = [axes.slice(0, cut), axes.slice(cut)];
    const [parts, rest] = [first, last].map((some) => countOf(some.map((axis) => x.type.shape[axis]))); // prettier-ignore
    if (rest === null) continue;
    const least = parts === null ? leastOfPart : leastOfPart / 4;
    if ((parts ?? fewestParts) >= fewestParts && rest >= least) return fold(fold(x, last), first);
  }
  return null;
}

/** A fold of `x` (rank 3) along its middle axis by parts of a length, of which the last may be shorter; null for none. */
export type UnevenFold = (x: Value, length: number) => Value | null;

/**
 * A fold of parts of the axes, if they are beside each other; null where there may be few elements only. `even` folds parts
 * `[before, parts, length, behind]` and their results.
 */
export function foldParts(
  x: Value,
  axes: readonly number[],
  even: (parts: Value, length: number) => Value,
  uneven: UnevenFold,
): Value | null {
  const { shape } = x.type;
  const [first] = axes;
  if (axes.some((axis, k) => axis !== first + k)) return null;
  const [before, behind] = [shape.slice(0, first), shape.slice(first + axes.length)].map(countOf);
  if (before === null || behind === null) return null;
  const isRow = behind === 1;
  const groups = isRow ? before : Math.ceil((before * behind) / resultsOfColumns);
  if (groups > fewGroups) return null;
  const count = elementCount(axes.map((axis) => shape[axis]));
  const { max: most } = boundsOf(count);
  if (most * (isRow ? 1 : Math.min(before * behind, resultsOfColumns)) < manyElements) return null;
  const rows = reshape(x, [before, count, behind]);
  const least = isRow ? leastOfPart : leastOfColumns;
  if (isStatic(count)) {
    const parts = partsOf(count, Math.ceil(mostParts / groups), least);
    if (parts >= fewestParts) return even(reshape(x, [before, parts, count / parts, behind]), count / parts);
  }
  const usual = isRow ? usualPart : usualPartOfColumns;
  const length = most === Infinity ? usual : Math.min(usual, roundedUp((most * groups) / mostParts, least));
  return uneven(rows, length);
} // prettier-ignore

/**
 * The fold of what folds of parts `[before, parts, behind]` give, without axes of size 1, so that what follows is
 * computed with it.
 */
function ofParts(results: Value, fold: Fold): Value {
  const [before, parts, behind] = results.type.shape;
  const shape = [...(before === 1 ? [] : [before]), parts, ...(behind === 1 ? [] : [behind])];
  return fold(reshape(results, shape), [before === 1 ? 0 : 1]);
}

/** A number rounded up to a multiple, at least that. */
function roundedUp(value: number, step: number): number {
  return Math.max(Math.ceil(value / step), 1) * step;
}

/** Results of a product up to which it is split, and terms from which on. */
const fewProducts = 2 ** 14;
const manyTerms = 2 ** 12;

/** Parts of a product, and terms of each. */
const mostProductParts = 64;
const leastTerms = 512;

/** Numbers of parts of a sum by their names, the usual one first. */
function splitsOf(terms: number): ReadonlyMap<string, number> {
  const usual = partsOf(terms, mostProductParts, leastTerms);
  const others = [1, 8, 16, 32, 4 * mostProductParts].map((most) => partsOf(terms, most, leastTerms / 4)); // prettier-ignore
  return new Map([usual, ...others].map((parts) => [`${parts} parts`, parts]));
}

/** A product of few results with a long inner axis as a batch of products over parts of it, and their sum. */
const splitProduct: DeviceExpansion = (context, tuning) => {
  const { attributes, inputs: [x, y], outputTypes: [{ dtype, shape }] } = context; // prettier-ignore
  const [left, right] = [x.type.shape, y.type.shape];
  if (dtype !== 'float32' || left.length !== 2 || right.length !== 2) return null;
  const [m, k] = left;
  const [, n] = right;
  const results = countOf(shape);
  if (!isStatic(k) || results === null || results === 0) return null;
  if (results > fewProducts || k < manyTerms) return null;
  // A transposed operand is read where it is: its parts are those of what was transposed.
  const [turnedLeft, turnedRight] = [turnedFrom(x), turnedFrom(y)];
  const turned = [turnedLeft !== null, turnedRight !== null];
  const types = [x.type, y.type];
  const parts = chosenCandidate({ operator: matmul, attributes, types, tuning, mayTurn: true }, {
    kind: 'split',
    traits: turned.map((is) => (is ? 'turned' : 'rows')),
    sizes: [m, n, k].map(Number),
    candidates: splitsOf(k),
    turned,
  }); // prettier-ignore
  if (parts === 1) return null;
  const depth = k / parts;
  const rows =
    turnedLeft === null
      ? swapaxes(reshape(x, [m, parts, depth]), 0, 1)
      : swapaxes(reshape(turnedLeft, [parts, depth, m]), 1, 2);
  const columns =
    turnedRight === null
      ? reshape(y, [parts, depth, n])
      : swapaxes(swapaxes(reshape(turnedRight, [n, parts, depth]), 0, 1), 1, 2);
  return [sum(matmul(rows, columns), 0)];
};

/** The element that changes no result of a fold; null where there is none, or it is no number. */
export function neutralOf(declaration: Operator, dtype: DType): number | null {
  const { lowering } = declarationOf(declaration);
  if (lowering.kind !== 'reduce' || lowering.neutral === undefined) return null;
  const exact = lowering.neutral(dtype);
  const neutral = Number(exact);
  // The greatest int64 is no number.
  return typeof exact === 'bigint' && BigInt(neutral) !== exact ? null : neutral;
}

/** A fold of parts that are filled up with what changes nothing. */
function unevenFold(declaration: Operator, fold: Fold): UnevenFold {
  return (x, length) => {
    const neutral = neutralOf(declaration, x.type.dtype);
    return neutral === null ? null : ofParts(fold(widened(inParts(x, length, neutral)), [2]), fold);
  };
}

/** The expansions of operators whose folds of parts can be folded. */
const foldExpansions = [...registry.values()].flatMap((declaration) => {
  const { lowering } = declaration;
  if (lowering.kind !== 'reduce' || lowering.neutral === undefined) return [];
  // Whatever `reduction` declares has these attributes.
  const fold: Fold = (x, axes) => x.program.append(declaration, [x], { axes, keepdims: false })[0];
  return [splitFold(declaration, fold, unevenFold(declaration, fold))];
});

/** The mean is a fold of equal parts only: others have other weights. */
const unevenMean: UnevenFold = (x, length) => {
  const total = unevenFold(sum.declaration, (of, axes) => sum(of, axes))(x, length)!;
  return div(total, dimLike(x, x.type.shape[1], { dtype: total.type.dtype }));
};

/** The expansions of folds and products. */
export const splitExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  ...foldExpansions,
  splitFold(mean.declaration, (x, axes) => mean(x, axes), unevenMean),
  [matmul.declaration, splitProduct],
];
