import { describe } from '../../base/attributes/attribute.js';
import { ceilDivDim, type Dim, DimExpr, isStatic, maxDim, subDim } from '../../base/dim/index.js';
import { type DType, kindOf } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { Value } from '../../ir/program.js';
import { installSizes, sizesFromElements } from '../../ops/dynamic/extents.js';
import {
  add,
  cast,
  ceil,
  dimLike,
  div,
  fill,
  floorDivide,
  iota,
  maximum,
  neg,
  reshape,
  sub,
} from '../../ops/index.js';
import { normalizeAxis } from '../../ops/declare/infer.js';
import { shapeList } from '../../ops/signatures.js';
import { KnownElements, knownElementsOf, type Making } from '../../ops/known/elements.js';
import type { Tensor } from '../../ir/types.js';
import type { ArrayType } from '../core/array-type.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/* Sizes that arrays hold: numbers in eager code, which is specialized to them, and symbols in captured code. */

/**
 * Captured code is rerun with other elements: known are only its own constants, and elements derived from
 * shapes.
 */
const makingOfArray: Making<NDArray> = (array) => {
  const { elements, origin } = array;
  if (elements !== null)
    return array.isConstant ? { type: array.type as ArrayType, data: elements.host } : null;
  if (origin === null || origin.results.length > 1 || origin.regions.length > 0) return null;
  return origin;
};

const knownOfCaptures: WeakMap<Capture, KnownElements<NDArray>> = new WeakMap();

/** Known elements of the arrays of a capture. */
function knownIn(capture: Capture): KnownElements<NDArray> {
  let known = knownOfCaptures.get(capture);
  if (known === undefined) knownOfCaptures.set(capture, (known = new KnownElements(makingOfArray)));
  return known;
}

/** The known elements of an array of sizes. */
function read(sizes: Tensor, eagerly: boolean): readonly (Dim | null)[] | null {
  const { dtype, shape } = sizes.type;
  if (kindOf(dtype) !== 'int' || shape.length > 1) return null;
  const { capture } = mode;
  if (!(sizes instanceof Value) && capture === null) {
    return eagerly && sizes instanceof NDArray ? Array.from(sizes.storage.host, Number) : null;
  }
  const known =
    sizes instanceof Value
      ? knownElementsOf(sizes.program).of(sizes)
      : sizes instanceof NDArray
        ? knownIn(capture!).of(capture!.state.current(sizes))
        : [];
  return known.length > 0 || shape[0] === 0 ? known : null;
}

/**
 * The size of an axis, negative ones counted from the last: a number in eager code, and a symbol in captured
 * code, where the size may differ between calls. Accepted by `arange`, `zeros`, `ones`, `full`, `reshape` and
 * `slice`, and equal to the axis that it came from.
 *
 * @throws ShapeError for an axis that `x` does not have.
 */
export function sizeOf(x: NDArray, axis: number): Dim {
  if (!(x instanceof NDArray)) {
    throw new ArgumentError('only arrays have axes', {
      op: 'sizeOf',
      expected: 'an array',
      actual: describe(x),
    });
  }
  const { capture } = mode;
  if (capture === null) return x.shape[normalizeAxis('sizeOf', axis, x.ndim)];
  const { shape } = capture.state.current(x).type;
  const size = shape[normalizeAxis('sizeOf', axis, shape.length)];
  return capture.sizes.handOut(size);
}

/** True for a size that stays symbolic, and for a number that stands for one in a run that is compared. */
export function isSymbolic(value: unknown): value is Dim {
  if (typeof value !== 'number') return DimExpr.isOne(value);
  return mode.capture?.sizes.pinned.has(value) === true;
}

/** Lets operators read sizes. Called once, when the front floor is loaded. */
export function installDynamicSizes(): void {
  installSizes(read);
}

/** The shape argument of a creation function. */
export function shapeOfArgument(shape: Dim | readonly Dim[] | NDArray): readonly Dim[] {
  return shapeList(shape);
}

/** One end of a range: a number, a size, or an array of one number. */
export type RangeEnd = Dim | NDArray;

/**
 * `start, start + step, ...` below `stop`, where an end is a size or an array: elements are computed from
 * their indices, as in `arange` of numbers.
 */
export function arangeBetween(
  start: RangeEnd,
  stop: RangeEnd,
  step: number,
  dtype: DType,
): NDArray {
  if (isSize(start) && isSize(stop) && Number.isInteger(step)) {
    const span = step > 0 ? subDim(stop, start) : subDim(start, stop);
    const length = maxDim(0, ceilDivDim(span, Math.abs(step)));
    if (isStatic(start) && !isSymbolic(start)) return iota(length, { start, step, dtype });
    const steps = iota(length, { step, dtype: 'int64' });
    return cast(add(steps, dimLike(steps, start)), dtype);
  }
  const ends = [start, stop].map((end) => oneElement(end));
  const isWhole = Number.isInteger(step) && ends.every(isInteger);
  const wide = isWhole ? 'int64' : 'float64';
  const [from, to] = ends.map((end) => (end instanceof NDArray ? cast(end, wide) : end));
  const span = sub(to, from);
  // Rounded up: the range includes every element below `stop`.
  const steps = isWhole ? neg(floorDivide(neg(span), step)) : cast(ceil(div(span, step)), 'int64');
  const [length] = sizesFromElements(maximum(steps, 0));
  return cast(add(iota(length, { step, dtype: wide }), from), dtype);
}

function isInteger(end: number | NDArray): boolean {
  return end instanceof NDArray ? kindOf(end.dtype) === 'int' : Number.isInteger(end);
}

function isSize(end: RangeEnd): end is Dim {
  return end instanceof DimExpr || Number.isSafeInteger(end);
}

/** An end as a number or an array of rank 0. */
function oneElement(end: RangeEnd): number | NDArray {
  if (end instanceof DimExpr) return dimLike(fill<NDArray>([], 0, 'int64'), end);
  if (!(end instanceof NDArray)) return end;
  const { shape, dtype } = end.type;
  if (shape.every((dim) => dim === 1) && kindOf(dtype) !== 'bool') return reshape(end, []);
  throw new ArgumentError('a bound of a range is one number', {
    op: 'arange',
    expected: 'a number, or an array of one',
    actual: `${dtype}[${shape.map(String).join(', ')}]`,
  });
}
