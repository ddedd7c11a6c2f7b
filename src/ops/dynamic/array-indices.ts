import { boundsOf, type Dim, isStatic } from '../../base/dim/index.js';
import { isFloat, kindOf } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { Tensor } from '../../ir/types.js';
import { add, mul, sub } from '../elementwise/arithmetic.js';
import { less } from '../elementwise/comparison.js';
import { cast } from '../elementwise/conversion.js';
import { floorDivide } from '../elementwise/division.js';
import { maximum, minimum } from '../elementwise/extremum.js';
import { where } from '../elementwise/selection.js';
import { take } from '../indexing/take.js';
import { shapeToString } from '../declare/infer.js';
import { dimLike, fullLike } from '../movement/fill.js';
import { resolveRange } from '../movement/range.js';
import { reshape } from '../movement/reshape.js';
import { cumsum } from '../reduction/cumulative.js';
import { dynamicSlice } from './dynamic-slice.js';
import { extents, knownSizes, sizesFromElements } from './extents.js';

/*
 * Arrays among the indices of `slice`: one is a position whose place only the data knows, two are a range
 * whose length only the data decides.
 */

/** A bound of a range. */
export type RangeBound<T extends Tensor = Tensor> = Dim | null | undefined | T;

/** A range of which some parts are arrays. */
export type ArrayRange<T extends Tensor = Tensor> = readonly [
  start?: RangeBound<T>,
  stop?: RangeBound<T>,
  step?: number,
];

/** Selects one index of an axis, given by an array; the axis is dropped. */
export function takeOne<T extends Tensor>(op: string, x: T, index: T, axis: number): T {
  return take(x, oneInteger(op, index), { axis });
}

/** The index in an array, where captured code knows it. */
export function knownPosition(op: string, index: Tensor): Dim | undefined {
  return knownBound(op, index, false) ?? undefined;
}

/** The bounds of a range with arrays, where captured code knows them. */
export function knownRange(
  op: string,
  [start, stop, step = 1]: ArrayRange,
): readonly [Dim | null, Dim | null, number] | undefined {
  const [from, to] = [knownBound(op, start, false), knownBound(op, stop, false)];
  return from === undefined || to === undefined ? undefined : [from, to, step];
}

/** Python's `start:stop:step` along an axis, where some of it are arrays. */
export function takeRange<T extends Tensor>(op: string, x: T, range: ArrayRange, axis: number): T {
  const [start, stop, step = 1] = range;
  if (!Number.isSafeInteger(step) || step === 0) {
    throw new ArgumentError('this is not a step', {
      op,
      expected: 'an integer other than 0',
      actual: String(step),
    });
  }
  const extent = x.type.shape[axis];
  const [from, to] = [knownBound(op, start, true), knownBound(op, stop, true)];
  const isNumber = (bound: Dim | null | undefined): boolean =>
    bound === null || typeof bound === 'number';
  if (isNumber(from) && isNumber(to) && isStatic(extent)) {
    const { start: first, length } = resolveRange(extent, from!, to!, step);
    if (step === 1) return dynamicSlice(x, first as number, [length], axis);
    return strided(
      x,
      fullLike(x, first as number, { shape: [], dtype: 'int64' }),
      step,
      length,
      axis,
    );
  }
  const { first, count } = resolved<T>(op, range as ArrayRange, step, extent, x);
  const [length] = sizesFromElements(count, () => extents(count, { most: [extent] }).type.shape);
  return step === 1
    ? dynamicSlice(x, first, [length], axis)
    : strided(x, first, step, length, axis);
}

/** Every `step`-th sub-array, starting with `first`. */
function strided<T extends Tensor>(x: T, first: T, step: number, length: Dim, axis: number): T {
  const numbers = sub(cumsum(fullLike(first, 1, { shape: [length] }), 0), 1);
  return take(x, add(mul(numbers, step), first), { axis, mode: 'valid' });
}

/** Start and length of a range, as `resolveRange` computes them for numbers. */
function resolved<T extends Tensor>(
  op: string,
  [start, stop]: ArrayRange,
  step: number,
  extent: Dim,
  like: T,
): { readonly first: T; readonly count: T } {
  const number = (dim: Dim): T => dimLike(like, dim, { dtype: 'int64' });
  const whole = number(extent);
  const [least, most] = step > 0 ? [number(0), whole] : [number(-1), sub(whole, 1)];
  const within = (bound: RangeBound, otherwise: T): T => {
    if (bound === null || bound === undefined) return otherwise;
    const isCounted = typeof bound !== 'number' || bound < 0;
    const at = bound instanceof Tensor ? cast(oneInteger(op, bound as T), 'int64') : number(bound);
    const placed = isCounted ? where(less(at, 0), add(at, whole), at) : at;
    return maximum(minimum(placed, most), least);
  };
  const first = within(start, step > 0 ? least : most);
  const end = within(stop, step > 0 ? most : least);
  const span = step > 0 ? sub(end, first) : sub(first, end);
  const stride = Math.abs(step);
  return { first, count: maximum(floorDivide(add(span, stride - 1), stride), 0) };
}

/** A bound as a size or an open end, where it is known; undefined otherwise. */
function knownBound(op: string, bound: RangeBound, eagerly: boolean): Dim | null | undefined {
  if (bound === null || bound === undefined) return null;
  if (!(bound instanceof Tensor)) return bound;
  const [known] = knownSizes(oneInteger(op, bound), eagerly) ?? [];
  // A symbolic bound counts from the front, an element by its sign.
  return known === undefined || isStatic(known) || boundsOf(known).min >= 0 ? known : undefined;
}

/** An integer array of one element, of rank 0. */
function oneInteger<T extends Tensor>(op: string, array: T): T {
  const { dtype, shape } = array.type;
  if (kindOf(dtype) === 'int' && shape.every((dim) => dim === 1)) {
    return shape.length === 0 ? array : reshape(array, []);
  }
  throw new ArgumentError('this array is not an index', {
    op,
    expected: 'an array of one integer',
    actual: `${dtype}${shapeToString(shape)}`,
    advice: isFloat(dtype)
      ? "convert it: `i | 0` for a number, astype('int32') for an array"
      : 'to select by an array of positions use take, by an array of booleans booleanMask',
  });
}
