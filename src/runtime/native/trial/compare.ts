import type { DType, HostArray } from '../../../base/dtype.js';
import { isFloat } from '../../../base/dtype.js';
import { widened } from '../../../base/element.js';
import { greatestFinite } from '../../../base/numbers.js';
import type { Operand } from '../../execution/executable.js';

/** The elements of floats as numbers. */
export function numbersOf(dtype: DType, elements: HostArray): ArrayLike<number> {
  return widened(dtype, elements) as Float32Array | Float64Array;
}

/** Results to compare. */
export interface ResultComparison {
  /** The reference result. */
  readonly expected: Operand;
  readonly actual: Operand;
  /** Result of the same code on operands perturbed by `slack`; null while unknown. */
  readonly nearby: Operand | null;
  /** Tolerated relative difference. */
  readonly slack: number;
}

/** A result and the same computed in float64 (`reference.ts`). */
export interface ReferenceComparison {
  /**
   * Result of the code to be replaced: a result that is as close to it as rounding explains is always
   * accepted.
   */
  readonly expected: Operand;
  readonly actual: Operand;
  readonly reference: Operand;
  /** The reference, with different errors of the size of rounding each time. */
  readonly perturbed: readonly Operand[];
  readonly slack: number;
}

/** Factor by which the new code may be further from the truth than perturbed code. */
const allowance = 4;

/** Location and kind of a difference beyond rounding; null for none. */
export function difference(comparison: ResultComparison): string | null {
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
 * Integers and booleans must be equal, unless the code itself gives other ones on perturbed operands:
 * `argmax` of two nearly equal numbers.
 */
function exactDifference({ expected, actual, nearby }: ResultComparison): string | null {
  const [want, have] = [elementsOf(expected), elementsOf(actual)];
  const near = nearby === null ? null : elementsOf(nearby);
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

/** The squares and the maximum of differences, and the number of elements of which only one was finite. */
class Deviation {
  squares = 0;
  greatest = 0;
  broken = 0;

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
 * Floats may differ by the slack relative to themselves, and beyond that by a few times the change of the
 * code's own results on perturbed operands: cancellation is as uncertain as that shows. Checked for the
 * maximum and for the mean, so that one undecided element excuses no others.
 */
function floatDifference(comparison: ResultComparison): string | null {
  const { expected, actual, nearby, slack } = comparison;
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
  const floor = near === null ? 0 : floorOf(slack, scale);
  return isExcused(off, [moved], floor, want.length) ? null : told(first, have[first], want[first]);
}

/** Bound below which a result counts as zero though its terms are not. */
const floorOf = (slack: number, scale: number): number => slack * slack ** 0.5 * scale;

/** True when results deviate at most a few times as far as those on perturbed operands. */
function isExcused(
  off: Deviation,
  moved: readonly Deviation[],
  floor: number,
  length: number,
): boolean {
  const most = (of: (deviation: Deviation) => number): number => Math.max(...moved.map(of));
  return (
    off.broken <= allowance * most(({ broken }) => broken) &&
    off.greatest <= allowance * most(({ greatest }) => greatest) + floor &&
    Math.sqrt(off.squares) <=
      allowance * Math.sqrt(most(({ squares }) => squares)) + floor * Math.sqrt(length)
  );
}

/**
 * True when a result agrees with float64: where it differs from the old code's, it may be as far off as
 * rounding errors move the reference. So of two differing results the truth decides, and pure rounding noise
 * is bounded by its expected size.
 */
export function agreesWithReference(comparison: ReferenceComparison): boolean {
  const { expected, actual, reference, perturbed } = comparison;
  const shapes = [expected, actual, ...perturbed].map(({ shape }) => String(shape));
  if (shapes.some((shape) => shape !== String(reference.shape))) return false;
  return isFloat(expected.storage.dtype) ? floatsAgree(comparison) : exactlyAgree(comparison);
}

function exactlyAgree({ expected, actual, reference, perturbed }: ReferenceComparison): boolean {
  const [old, have, want] = [expected, actual, reference].map(elementsOf);
  const near = perturbed.map(elementsOf);
  let wrong = 0;
  let undecided = 0;
  for (let i = 0; i < want.length; i++) {
    if (have[i] !== old[i] && have[i] !== want[i]) wrong++;
    if (near.some((elements) => elements[i] !== want[i])) undecided++;
  }
  return wrong <= allowance * undecided;
}

function floatsAgree(comparison: ReferenceComparison): boolean {
  const { expected, actual, reference, perturbed, slack } = comparison;
  const [old, have, want] = [expected, actual, reference].map(valuesOf);
  const greatest = greatestFinite(expected.storage.dtype)!;
  const near = perturbed.map(valuesOf);
  const off = new Deviation();
  const moved = near.map(() => new Deviation());
  let scale = 0;
  for (let i = 0; i < want.length; i++) {
    const size = Math.abs(want[i]);
    if (size > scale && size !== Infinity) scale = size;
    // A value that only float64 can represent must have the right sign.
    const isBeyond = size > greatest && size < Infinity && Math.abs(have[i]) >= greatest;
    const right = isBeyond ? Math.sign(want[i]) * Math.abs(have[i]) : want[i];
    if (!(Math.abs(have[i] - old[i]) <= slack * Math.abs(old[i]))) off.add(right, have[i], slack * size); // prettier-ignore
    moved.forEach((deviation, at) => deviation.add(want[i], near[at][i], 0));
  }
  return isExcused(off, moved, floorOf(slack, scale), want.length);
}

function told(at: number, have: number | bigint, want: number | bigint): string {
  return `element ${at} is ${have} instead of ${want}`;
}
