import { kindOf } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import type { Dim } from '../base/dim.js';
import type { DType } from '../base/dtype.js';
import { installSizes, sizesOf } from '../ops/dynamic/extents.js';
import {
  add,
  cast,
  ceil,
  div,
  floorDivide,
  iota,
  maximum,
  neg,
  reshape,
  shapeOf,
  sub,
} from '../ops/index.js';
import { shapeList } from '../ops/signatures.js';
import type { Tensor } from '../ir/types.js';
import { mode } from './mode.js';
import { NDArray } from './ndarray.js';

/* Sizes that arrays hold: numbers in eager code, which is specialised to them, and symbols in captured code. */

/**
 * The elements of an array that is given as sizes. Captured code is run again with others, so there only
 * its own constants are known, and the sizes of an array are what its type says.
 */
function read(sizes: Tensor): readonly Dim[] | null {
  if (!(sizes instanceof NDArray) || kindOf(sizes.dtype) !== 'int' || sizes.ndim > 1) return null;
  const { origin } = sizes;
  if (sizes.elements === null && origin?.declaration === shapeOf.declaration) {
    return origin.operands[0].type.shape;
  }
  if (mode.capture !== null && !(sizes.isConstant && sizes.elements !== null)) return null;
  return Array.from(sizes.storage.host, Number);
}

/** Lets operators read sizes. Called once, when the front floor is loaded. */
export function installDynamicSizes(): void {
  installSizes(read);
}

/** The shape that a creation function is given. */
export function shapeOfArgument(shape: number | readonly number[] | NDArray): readonly Dim[] {
  return shapeList(shape);
}

/** One end of a range: a number, or an array with exactly one. */
export type RangeEnd = number | NDArray;

/**
 * `start, start + step, ...` below `stop`, where an end is an array: its elements are worked out as those
 * of `arange` of numbers are, from their positions.
 */
export function arangeBetween(
  start: RangeEnd,
  stop: RangeEnd,
  step: number,
  dtype: DType,
): NDArray {
  const ends = [start, stop].map((end) => oneElement(end));
  const isWhole = Number.isInteger(step) && ends.every(isInteger);
  const wide = isWhole ? 'int64' : 'float64';
  const [from, to] = ends.map((end) => (end instanceof NDArray ? cast(end, wide) : end));
  const span = sub(to, from);
  // Rounded up: a range ends below its stop, however little.
  const steps = isWhole ? neg(floorDivide(neg(span), step)) : cast(ceil(div(span, step)), 'int64');
  const [length] = sizesOf(maximum(steps, 0));
  return cast(add(iota(length, { step, dtype: wide }), from), dtype);
}

function isInteger(end: RangeEnd): boolean {
  return end instanceof NDArray ? kindOf(end.dtype) === 'int' : Number.isInteger(end);
}

function oneElement(end: RangeEnd): RangeEnd {
  if (!(end instanceof NDArray)) return end;
  const { shape, dtype } = end.type;
  if (shape.every((dim) => dim === 1) && kindOf(dtype) !== 'bool') return reshape(end, []);
  throw new ArgumentError('an end of a range is one number', {
    op: 'arange',
    expected: 'a number, or an array of one',
    actual: `${dtype}[${shape.map(String).join(', ')}]`,
  });
}
