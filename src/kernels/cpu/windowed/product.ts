import { type Dim, isStatic, mulDim, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { shortTerms } from '../../contraction/long-sums.js';
import { contractDirect } from '../gemm/direct.js';
import { bestTile, registerLanes, type TileShape } from '../gemm/shape.js';
import { known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import type { Layout } from './layout.js';
import type { SpatialIndex, Windowed } from './spec.js';

/**
 * A product of one thread that reads its operands in place, in ranges along `k`: as long as the operands of a
 * tile stay in the first-level cache. `sums` are the results, which accumulate over the ranges.
 */
export function productInPlace(
  windows: Windowed,
  spec: Omit<Contraction, 'context' | 'scalar' | 'store'>,
  sums: (batch: Expr, i: Expr, j: Expr) => { readonly buffer: Buffer; readonly index: Expr },
): Stmt {
  const { scalar } = windows;
  const context = { ...windows.context, isDivided: false };
  const k = known(spec.k);
  if (k !== null && k > manyTerms) {
    const long: Contraction = {
      ...spec,
      context,
      scalar,
      store: (batch, i, j, value) => {
        const { buffer, index } = sums(batch, i, j);
        return e.store(buffer, index, value);
      },
    };
    return contractDirect(long, shapeOf(long), Math.ceil(k / stretches(windows, k)));
  }
  const stretch = (from: Expr, length: Expr, isFirst: boolean): Stmt => {
    const part: Contraction = {
      ...spec,
      context,
      scalar,
      k: length,
      a: (batch, i, k) => spec.a(batch, i, e.add(from, k)),
      b: (batch, k, j) => spec.b(batch, e.add(from, k), j),
      store: (batch, i, j, value) => {
        const { buffer, index } = sums(batch, i, j);
        return e.store(buffer, index, isFirst ? value : e.add(e.load(buffer, index), value));
      },
    };
    return contractDirect(part, shapeOf(part));
  };
  const count = k === null ? 1 : stretches(windows, k);
  if (k === null || count === 1) return stretch(e.i32(0), spec.k, true);
  const length = Math.ceil(k / count);
  const last = k - length * (count - 1);
  const middle = last === length ? k : k - last;
  return e.block(
    stretch(e.i32(0), e.i32(length), true),
    e.forLoop('k', length, middle, (from) => stretch(from, e.i32(length), false), { step: length }),
    ...(last === length ? [] : [stretch(e.i32(k - last), e.i32(last), false)]),
  );
}

/**
 * Number of ranges along `k`. Since that determines the order of summation, it does not depend on the number
 * of threads.
 */
function stretches({ context: { target }, scalar }: Windowed, k: number): number {
  const bytes = usualRows * e.scalarBytes(scalar) + usualVectors * target.vectorBytes;
  return Math.max(1, Math.round((k * bytes) / (mostCaches * target.firstCache)));
}

/**
 * Term limit above which sums have blocks and compensation; shorter ones have few ranges, each of which is
 * short.
 */
const manyTerms = 8 * shortTerms;

/** Assumed rows of a step along `k`. */
const usualRows = 12;
const usualVectors = 2;

/** Size of a range in multiples of the first-level cache: its reads are prefetched. */
const mostCaches = 1.5;

function shapeOf(spec: Contraction): TileShape {
  const { target } = spec.context;
  const m = known(spec.m);
  if (m === null || m === 1) return { rows: 1, vectors: 8 };
  if (m === 2 && !target.fusesMultiplyAdd) return { rows: 2, vectors: 4 };
  return bestTile(target, spec.m, spec.n, registerLanes(spec));
}

/** The number of elements along the inner index of a product over windows. */
export function depthOf({ inputs }: Windowed, taps: readonly number[]): Dim {
  return mulDim(inputs, elementCount(taps));
}

/**
 * Offsets of the elements along the inner index, channels and then taps, from the first column's: a lookup is
 * cheaper than decomposing the index.
 */
export function tapTable(
  { context, inputs }: Windowed,
  layout: Layout,
  taps: readonly [number, number, number],
): { readonly prepare: Stmt; at(k: Expr): Expr } {
  const count = elementCount(taps);
  const length = context.extent(mulDim(inputs, count));
  const table: Buffer = context.scratch('taps', 'int32', length);
  const prepare = e.forLoop('channel', 0, context.extent(inputs), (channel) =>
    overTaps(taps, (tap, position) =>
      e.store(
        table,
        e.add(e.mul(channel, context.extent(count)), position),
        e.add(e.mul(channel, context.extent(layout.channel)), layout.tap(tap)),
      ),
    ),
  );
  return { prepare, at: (k) => e.load(table, k) };
}

/** Every tap, and its row-major position. */
export function overTaps(
  [deep, high, wide]: readonly [number, number, number],
  body: (tap: SpatialIndex, position: Expr) => Stmt,
): Stmt {
  return e.forLoop('tz', 0, deep, (tz) =>
    e.forLoop('ty', 0, high, (ty) =>
      e.forLoop('tx', 0, wide, (tx) =>
        body([tz, ty, tx], e.add(e.mul(e.add(e.mul(tz, high), ty), wide), tx)),
      ),
    ),
  );
}

/** Whole vectors for so many columns. */
export function roundedUp(columns: Dim, lanes: number): Dim {
  return isStatic(columns) ? Math.ceil(columns / lanes) * lanes : columns;
}
