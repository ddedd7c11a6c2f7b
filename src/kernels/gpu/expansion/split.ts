import { boundsOf, elementCount, isStatic, sameShape } from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { turnedFrom } from '../../../ops/movement/transpose.js';
import { inParts } from '../folds/parts.js';
import { chosenCandidate } from '../choices.js';
import { dimLike } from '../../../ops/movement/fill.js';
import { div, matmul, max, mean, min, prod, reshape, sum, swapaxes } from '../../../ops/index.js';

/*
 * Work of few results over many elements as two dispatches: parts of a fold fill a GPU, which the workgroup of a result
 * does not. Parts and their order follow from the sizes alone. One result of a size that no part divides, or that is
 * not known but has a bound, is that of parts that are filled up.
 */

/** Results up to which a fold is split, and elements of each from which on. */
const fewResults = 32;
const manyElements = 2 ** 16;

/** Parts of a fold: enough to fill a GPU, with elements enough for a workgroup each. */
const fewestParts = 16;
const mostParts = 256;
const leastOfPart = 1024;
const unevenParts = 64;

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
 * A fold of all elements of a result as folds of parts, and a fold of these: `fold` of equal parts is the fold of all.
 * Parts are those of an axis where there are several, since what comes before a fold is then computed with it.
 */
function splitFold(
  operator: { readonly declaration: Operator },
  fold: Fold,
  uneven: UnevenFold,
): readonly [Operator, DeviceExpansion] {
  const { declaration } = operator;
  const { lowering } = declarationOf(declaration);
  const expansion: DeviceExpansion = (context) => {
    const { attributes, inputs, outputTypes } = context;
    const [x] = inputs;
    const [{ dtype, shape }] = outputTypes;
    if (lowering.kind !== 'reduce' || dtype !== x.type.dtype || dtype !== 'float32') return null;
    const all = x.type.shape;
    const axes = lowering.axes(attributes, all.length);
    const [elements, results] = [countOf(all), countOf(shape)];
    if (results === null || results === 0 || results > fewResults) return null;
    const length = elements === null ? null : elements / results;
    if (length !== null && length < manyElements) return null;
    const total =
      foldAxes(x, axes, fold) ??
      (length === null ? null : foldParts(x, axes, length, fold)) ??
      (results === 1 ? uneven(x) : null);
    return total === null
      ? null
      : [sameShape(total.type.shape, shape) ? total : reshape(total, shape)];
  };
  return [declaration, expansion];
}

/** A fold of the last axes and then of the first ones; null where one of the two has too little to do. */
function foldAxes(x: Value, axes: readonly number[], fold: Fold): Value | null {
  for (let cut = 1; cut < axes.length; cut++) {
    const [first, last] = [axes.slice(0, cut), axes.slice(cut)];
    const [parts, rest] = [first, last].map((some) => countOf(some.map((axis) => x.type.shape[axis]))); // prettier-ignore
    if (rest === null) continue;
    const least = parts === null ? leastOfPart : leastOfPart / 4;
    if ((parts ?? fewestParts) >= fewestParts && rest >= least) return fold(fold(x, last), first);
  }
  return null;
}

/** A fold of all elements as that of parts of which the last may be shorter; null where there may be few elements only. */
type UnevenFold = (x: Value) => Value | null;

/** @param neutral What a part is filled up with. */
function unevenFold(fold: Fold, neutral: number): UnevenFold {
  return (x) => {
    const count = elementCount(x.type.shape);
    const { max: most } = boundsOf(count);
    // Nothing is known of what has no bound.
    if (most < manyElements || most === Infinity) return null;
    const parts = inParts(reshape(x, [count]), unevenParts, neutral);
    return fold(fold(parts, [1]), [0]);
  };
}

const unevenSum = unevenFold((x, axes) => sum(x, axes), 0);

/** The uneven mean: parts of other lengths have other weights. */
const unevenMean: UnevenFold = (x) => {
  const total = unevenSum(x);
  return total === null ? null : div(total, dimLike(total, elementCount(x.type.shape)));
};

/** A fold of equal parts of the first or last axes; null where nothing divides them. */
function foldParts(x: Value, axes: readonly number[], length: number, fold: Fold): Value | null {
  const rank = x.type.shape.length;
  const isLast = axes.every((axis, k) => axis === rank - axes.length + k);
  const isFirst = axes.every((axis, k) => axis === k);
  const parts = partsOf(length, mostParts, leastOfPart);
  if (!(isLast || isFirst) || parts === 1) return null;
  const results = Number(elementCount(x.type.shape)) / length;
  return isLast
    ? fold(fold(reshape(x, [results, parts, length / parts]), [2]), [1])
    : fold(fold(reshape(x, [parts, length / parts, results]), [1]), [0]);
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

/** The expansions of folds and products. */
export const splitExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  splitFold(mean, (x, axes) => mean(x, axes), unevenMean),
  ...([[sum, 0], [max, -Infinity], [min, Infinity], [prod, 1]] as const).map(([operator, neutral]) => {
    const fold: Fold = (x, axes) => operator(x, axes);
    return splitFold(operator, fold, unevenFold(fold, neutral));
  }), // prettier-ignore
  [matmul.declaration, splitProduct],
];
