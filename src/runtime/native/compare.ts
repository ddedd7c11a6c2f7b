import type { DType, HostArray } from '../../base/dtype.js';
import { isFloat } from '../../base/dtype.js';
import { fromBFloat16Bits, fromFloat16Bits } from '../../base/element.js';
import type { Operand } from '../executable.js';

/** The elements of floats as numbers. */
export function numbersOf(dtype: DType, elements: HostArray): ArrayLike<number> {
  if (dtype === 'float16') return Float64Array.from(elements as Uint16Array, fromFloat16Bits);
  if (dtype === 'bfloat16') return Float64Array.from(elements as Uint16Array, fromBFloat16Bits);
  return elements as Float32Array | Float64Array;
}

/** What is compared with what. */
export interface Comparison {
  /** The result that counts. */
  readonly expected: Operand;
  readonly actual: Operand;
  /** The result of the same code on operands that are off by `slack`; null while that is not known. */
  readonly nearby: Operand | null;
  /** The relative difference that says nothing. */
  readonly slack: number;
  /** What no difference may exceed, whatever else excuses it. Default: nothing. */
  readonly most?: number;
}

/** How much further from the truth than code on operands that are a little off the other code may be. */
const allowance = 4;

/** Where and how two results differ by more than rounding explains; null where they do not. */
export function difference(comparison: Comparison): string | null {
  const { expected, actual } = comparison;
  if (String(expected.shape) !== String(actual.shape)) {
    return `it has shape [${actual.shape.join()}] instead of [${expected.shape.join()}]`;
  }
  return isFloat(expected.storage.dtype)
    ? floatDifference(comparison)
    : exactDifference(comparison);
}

function elementsOf({ storage }: Operand): HostArray {
  return storage.host;
}

function valuesOf({ storage }: Operand): ArrayLike<number> {
  return numbersOf(storage.dtype, storage.host);
}

/**
 * Integers and truth values are equal, unless the code itself decides some of them otherwise when its
 * operands are a little off: `argmax` of two numbers that are nearly equal.
 */
function exactDifference({ expected, actual, nearby, most }: Comparison): string | null {
  const [want, have] = [elementsOf(expected), elementsOf(actual)];
  const near = nearby === null || most !== undefined ? null : elementsOf(nearby);
  if (near !== null && near.length !== want.length) return null;
  let first = -1;
  let wrong = 0;
  let undecided = 0;
  for (let i = 0; i < want.length; i++) {
    if (want[i] !== have[i]) {
      if (first < 0) first = i;
      wrong++;
    }
    if (near !== null && want[i] !== near[i]) undecided++;
  }
  return wrong <= allowance * undecided ? null : told(first, have[first], want[first]);
}

/** The squares and the greatest of differences, and how often one of two was finite. */
class Deviation {
  squares = 0;
  greatest = 0;
  broken = 0;

  /** @returns whether both are what no arithmetic tells apart. */
  add(want: number, have: number, free: number): void {
    if (want === have || (want !== want && have !== have)) return;
    const distance = Math.abs(want - have);
    if (!Number.isFinite(distance)) {
      this.broken++;
      return;
    }
    const counted = Math.max(0, distance - free);
    this.squares += counted * counted;
    if (counted > this.greatest) this.greatest = counted;
  }
}

/**
 * Floats may differ by the slack relative to themselves, and beyond that no more than a few times as far
 * as the code's own results move when its operands are off by the slack: what cancels is as uncertain as
 * that shows. This holds for the greatest difference and for the mean, so that one element which is
 * undecided excuses no others.
 */
function floatDifference(comparison: Comparison): string | null {
  const { expected, actual, nearby, slack, most = Infinity } = comparison;
  const [want, have] = [valuesOf(expected), valuesOf(actual)];
  const near = nearby === null ? null : valuesOf(nearby);
  if (near !== null && near.length !== want.length) return null;
  const [off, moved] = [new Deviation(), new Deviation()];
  let scale = 0;
  let first = -1;
  for (let i = 0; i < want.length; i++) {
    const size = Math.abs(want[i]);
    if (size > scale && size !== Infinity) scale = size;
    const { broken, greatest } = off;
    off.add(want[i], have[i], slack * size);
    if (first < 0 ? off.broken > broken || off.greatest > 0 : off.greatest > greatest) first = i;
    if (near !== null) moved.add(want[i], near[i], 0);
  }
  // What comes out as zero though its parts are not.
  const floor = near === null ? 0 : slack * slack ** 0.5 * scale;
  const isClose =
    off.greatest <= most &&
    off.broken <= allowance * moved.broken &&
    off.greatest <= allowance * moved.greatest + floor &&
    Math.sqrt(off.squares) <= allowance * Math.sqrt(moved.squares) + floor * Math.sqrt(want.length);
  return isClose ? null : told(first, have[first], want[first]);
}

function told(at: number, have: number | bigint, want: number | bigint): string {
  return `element ${at} is ${have} instead of ${want}`;
}
