import { addDim, type Dim, mulDim } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { Axis, SpatialIndex, Windowed } from './spec.js';

/**
 * Input layout for some rows of results: `[channel][z tap][y phase][x phase][row][column]`. Elements that are
 * a stride apart are adjacent, so that one step to the next result is one step in memory, for every tap and
 * stride: also from the end of a row to the beginning of the next, with a few columns in between that belong
 * to no result. Thus results are the columns of a product that reads its operand in place.
 */
export interface Layout {
  /** Strides between rows, planes of rows, and channels. */
  readonly pitch: Dim;
  readonly plane: Dim;
  readonly channel: Dim;
  /** Offset that a tap reads for the first result, from the start of a channel. */
  tap(tap: SpatialIndex): Expr;
}

/**
 * Elements along an axis, sorted by their remainders modulo the stride; by the tap that reads them where every
 * tap has a remainder of its own.
 */
export interface Phases {
  /** Number of remainders that windows read, or of taps, and the distance between them. */
  readonly count: number;
  readonly step: number;
  /** Distance of the last tap from the first, in strides. */
  readonly overhang: number;
}

export function phasesOf({ taps, stride, dilation }: Axis): Phases {
  if (tapsAreApart({ taps, stride, dilation })) return { count: taps, step: dilation, overhang: 0 };
  const step = commonDivisor(stride, dilation);
  return {
    count: stride / step,
    step,
    overhang: Math.floor(((taps - 1) * dilation) / stride),
  };
}

/** True when no two taps read elements of one remainder. */
function tapsAreApart({
  taps,
  stride,
  dilation,
}: Pick<Axis, 'taps' | 'stride' | 'dilation'>): boolean {
  return taps <= stride / commonDivisor(stride, dilation);
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** Planes of so many rows, for results of so many columns. */
export function layoutOf({ axes, context }: Windowed, rows: number, columns: Dim): Layout {
  const [z, y, x] = axes;
  const pitch = addDim(columns, phasesOf(x).overhang);
  const plane = mulDim(rows, pitch);
  const depth = mulDim(phasesOf(y).count * phasesOf(x).count, plane);
  return {
    pitch,
    plane,
    channel: mulDim(z.taps, depth),
    tap: ([tz, ty, tx]) => {
      const [down, across] = [sorted(y, ty), sorted(x, tx)];
      const phase = e.add(e.mul(down.phase, phasesOf(x).count), across.phase);
      const place = e.add(e.mul(down.shift, context.extent(pitch)), across.shift);
      const planes = e.add(e.mul(tz, context.extent(depth)), e.mul(phase, context.extent(plane)));
      return e.add(planes, place);
    },
  };
}

/** The phase of a tap, and its shift in strides. */
function sorted(axis: Axis, tap: Expr): { readonly phase: Expr; readonly shift: Expr } {
  const { dilation, stride } = axis;
  if (tapsAreApart(axis)) return { phase: tap, shift: e.i32(0) };
  const distance = e.mul(tap, dilation);
  if (stride === 1) return { phase: e.i32(0), shift: distance };
  const phase = e.div(e.rem(distance, stride), phasesOf(axis).step);
  return { phase, shift: e.div(distance, stride) };
}
