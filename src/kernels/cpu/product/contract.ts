import * as e from '../../../loop/language/build.js';
import { chooseBy } from '../../../loop/language/choices.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { packedStates } from '../../../ops/declare/lowering.js';
import { contractDirect } from '../gemm/direct.js';
import { contractDot } from '../gemm/dot.js';
import { contractPacked, type PackedForm } from '../gemm/packed.js';
import { isContiguous, isDecidedBy, isPlain } from '../../contraction/reach.js';
import { dividedOf } from '../gemm/region.js';
import { roomForPanels } from '../gemm/right.js';
import {
  bestTile,
  blockingFor,
  registerLanes,
  narrowLaneCount,
  type TileShape,
} from '../gemm/shape.js';
import { isWithin, known } from '../../contraction/sizes.js';
import { type Contraction, transposed } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { contractStreaming } from '../gemm/streaming.js';

export type { Contraction } from '../../contraction/spec.js';

/**
 * The loops of a contraction. Large ones pack `b` panel by panel (`gemm/packed.ts`), small ones and those of
 * few rows read their operands in place, with lanes along columns (`gemm/direct.ts`) or along the inner index
 * (`gemm/dot.ts`), whichever is contiguous, or a large matrix in memory order (`gemm/streaming.ts`). The
 * choice never changes a result by more than the rounding of another order of summation. A symbolic `m` gets
 * both forms, and the size decides at run time.
 */
export function contract(spec: Contraction): Stmt {
  // Few columns are few rows of the transposes.
  const isTurned = chooseBy([spec.m, spec.n], (m, n) => n === 1 && m !== 1);
  const oriented = isTurned ? transposed(spec) : spec;
  const { m } = oriented;
  const areFew = chooseBy([m], (rows) => (rows === null ? null : rows <= fewRows));
  if (areFew === null) return e.ifThen(e.le(m, fewRows), someRows(oriented), manyRows(oriented));
  return areFew ? someRows(oriented) : manyRows(oriented);
}

/** Row limit up to which packing `b` costs more than it saves, since each packed element is used so rarely. */
const fewRows = 4;

/** Number of multiplications below which narrow vectors read operands in place. */
const smallVolume = 2 ** 21;

/** Width limit in registers of a `b` that is read in place: its rows fit few cache lines. */
const fewVectors = 4;

/** At most `fewRows`. */
function someRows(spec: Contraction): Stmt {
  const { alongColumns, alongDepth } = layoutOf(spec);
  const lanes = registerLanes(spec);
  const isNarrow = isWithin(spec.n, fewVectors * lanes - 1);
  // A matrix that exceeds the second-level cache is read in memory order.
  if (alongColumns && !isNarrow && !fitsRight(spec, spec.context.target.secondCache))
    return contractStreaming(spec, fewRows);
  if (alongDepth && (!alongColumns || isWithin(spec.n, lanes - 1))) return dot(spec);
  return direct(spec);
}

/** Strategy of a product of many rows. */
type Method = 'direct' | 'in parts' | 'dot' | 'packed' | 'packed, transposed';

function manyRows(spec: Contraction): Stmt {
  const layout = layoutOf(spec);
  const method = methodFor(spec, layout);
  const ordinary = (): Stmt => {
    switch (method) {
      case 'direct':
        return direct(spec);
      case 'in parts':
        return contractDirect(spec, shapeOf(spec), partOfDepth(spec)!);
      case 'dot':
        return dot(spec);
      case 'packed':
        return packed(spec);
      case 'packed, transposed':
        return packed(transposed(spec));
    }
  };
  if (!mayKeep(spec, method)) return ordinary();
  const form = packedForm(spec);
  const width = form.vectors * registerLanes(spec);
  const room = roomForPanels(known(spec.k)!, known(spec.n)!, { ...form, width, depth: form.blockDepth }); // prettier-ignore
  const kept = spec.rightKeeper!.keep('panels', scalarDTypes[spec.scalar], room);
  const readingKept = contractPacked(spec, { ...form, kept });
  if (kept.isCertain || method === 'packed') return readingKept;
  return e.ifThen(e.gt(kept.state, packedStates.nothing), readingKept, ordinary());
}

function methodFor(spec: Contraction, layout: Layout): Method {
  const lanes = registerLanes(spec);
  if (lanes > narrowLaneCount) {
    if (layout.isPlain && layout.alongColumns && isReadInPlace(spec)) return 'direct';
    if (layout.isPlain && layout.alongColumns && partOfDepth(spec) !== null) return 'in parts';
    return layout.alongDepth && isCheaperTurned(spec) ? 'packed, transposed' : 'packed';
  }
  if (!layout.isPlain) return 'packed';
  return chooseBy([spec.m, spec.n, spec.k], (m, n, k) => {
    const isNarrow = n !== null && n <= fewVectors * lanes;
    const isSmall = m !== null && n !== null && k !== null && m * n * k <= smallVolume;
    if (layout.alongColumns && (isNarrow || isSmall)) return 'direct';
    const isShort = m !== null && m <= 16; // an element of `b` is used too rarely to pay for its copy
    const isLean = isShort || (isNarrow && n < fewVectors * lanes);
    return layout.alongDepth && !layout.alongColumns && isLean ? 'dot' : 'packed';
  });
}

/** Row limit for keeping panels: more rows read a panel so often that packing it is negligible. */
const mostRowsForKept = 512;

/** Byte limit of `b` below which packing costs less than the code that checks if it is needed. */
export const leastBytesForKept: number = 2 ** 16;

/**
 * True when panels of `b` are to be kept: where that saves time, and is worth the code of another strategy
 * for runs without kept panels. Inner products sum in another order, so they give way in loops only, where
 * every run has them.
 */
function mayKeep(spec: Contraction, method: Method): boolean {
  const { rightKeeper: packedAllocator = null } = spec;
  if (packedAllocator === null || known(spec.batch) !== 1) return false;
  // An unknown number of rows may be so small that panels are not made.
  if (!isWithin(spec.m, mostRowsForKept)) return false;
  if (fitsRight(spec, leastBytesForKept - 1) || !fitsRight(spec, Number.MAX_VALUE)) return false;
  const isWide = registerLanes(spec) > narrowLaneCount;
  if (!(method === 'packed' || (method === 'dot' && packedAllocator.isCertain) || isWide))
    return false;
  const [batch, k, j] = ['batch', 'k', 'j'].map((name) => e.variable(name, 'i32'));
  if (!isDecidedBy(spec.b(batch, k, j), [batch, k, j])) return false;
  // Threads share kept panels, so each must have its own columns.
  const { rows, vectors } = shapeOf(spec);
  const divided = dividedOf(spec, rows, vectors * registerLanes(spec));
  return divided === 'columns' || divided === 'nothing';
}

function packed(spec: Contraction): Stmt {
  return contractPacked(spec, packedForm(spec));
}

function packedForm(spec: Contraction): PackedForm {
  const { target } = spec.context;
  const lanes = registerLanes(spec);
  const shape = shapeOf(spec);
  const { leftAlongDepth, isLeftBare, rightAlongDepth, alongColumns } = layoutOf(spec);
  const isWhole = fitsRight(spec, target.secondCache / 4);
  return {
    ...shape,
    ...blockingFor(target, shape, lanes, spec, isWhole),
    left: !leftAlongDepth ? 'interleaved' : isLeftBare ? 'in place' : 'in rows',
    isTurned: rightAlongDepth && !alongColumns,
    isWhole,
  };
}

function dot(spec: Contraction): Stmt {
  const rows = chooseBy([spec.m], (m) => (m === 1 ? 1 : 2));
  return contractDot(spec, { rows, columns: 4 });
}

function direct(spec: Contraction): Stmt {
  const { target } = spec.context;
  const lanes = registerLanes(spec);
  const rows = chooseBy([spec.m, spec.n], (m, n) => {
    if (m === null || m === 1) return 1;
    const isWide = n !== null && n <= 8 * lanes && n % (4 * lanes) === 0;
    return !target.fusesMultiplyAdd && (m === 2 || isWide) ? 2 : null;
  });
  return contractDirect(spec, rows === null ? shapeOf(spec) : { rows, vectors: 8 / rows });
}

/** The tile for operands that are read in place. */
function shapeOf(spec: Contraction): TileShape {
  return bestTile(spec.context.target, spec.m, spec.n, registerLanes(spec));
}

/**
 * Row limit for reading `b` in place: more rows read a packed copy of a `b` that fits the second-level cache
 * often enough.
 */
const mostRowsInPlace = 128;

/**
 * True when wide vectors read `b` in place: the cache holds it, and rows are few or packing saves nothing
 * (decisions 41, 42).
 */
function isReadInPlace(spec: Contraction): boolean {
  const { inPlace, secondCache } = spec.context.target;
  if (fitsRight(spec, inPlace)) return true;
  return isWithin(spec.m, mostRowsInPlace) && fitsRight(spec, secondCache / 2);
}

/** Row limit for reading a larger `b` in parts: more rows read a packed copy often enough. */
const mostRowsInParts = 256;

/**
 * Depth of `k` whose part of `b` fits an eighth of the second-level cache, for a `b` that exceeds the cache,
 * with so few rows that a packed copy would not be read often enough; null where packing is better, or sizes
 * are unknown.
 */
function partOfDepth({ m, n, k, scalar, context }: Contraction): number | null {
  const { inPlace, secondCache } = context.target;
  return chooseBy([m, n, k], (rows, columns, depth) => {
    if (rows === null || columns === null || depth === null || rows > mostRowsInParts) return null;
    const bytes = columns * e.scalarBytes(scalar);
    // A small second-level cache leaves too little beside an eighth: panels are faster (decision 42).
    if (inPlace < secondCache / 2) return null;
    // Rows of `b` that are further apart lie on different pages, all in the same sets of the first-level cache.
    if (bytes > pageBytes / 2) return null;
    const most = Math.floor(secondCache / 8 / bytes);
    return Math.ceil(depth / Math.ceil(depth / most));
  });
}

const pageBytes = 4096;

/**
 * True when the transposed product is cheaper, where both operands are contiguous along `k`: the one with the
 * lanes has to be transposed while it is packed, element by element, and so has the result if that is the
 * left one.
 */
function isCheaperTurned(spec: Contraction): boolean {
  return chooseBy(
    [spec.m, spec.n, spec.k],
    (m, n, k) => m !== null && n !== null && k !== null && m * (k + n) < n * k,
  );
}

/** True when `b` certainly takes no more than so many bytes. */
function fitsRight({ n, k, scalar }: Contraction, bytes: number): boolean {
  return chooseBy(
    [n, k],
    (columns, depth) =>
      columns !== null && depth !== null && columns * depth * e.scalarBytes(scalar) <= bytes,
  );
}

interface Layout {
  /** Lanes of `b` along `j` are contiguous. */
  readonly alongColumns: boolean;
  /** Lanes of both operands along `k` are contiguous. */
  readonly alongDepth: boolean;
  /** Lanes of `a`, or of `b`, along `k` are contiguous. */
  readonly leftAlongDepth: boolean;
  readonly rightAlongDepth: boolean;
  /** Elements of `a` are loads without further computation. */
  readonly isLeftBare: boolean;
  /** Both operands may be recomputed any number of times. */
  readonly isPlain: boolean;
}

function layoutOf(spec: Contraction): Layout {
  const [batch, i, j, k] = ['batch', 'i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const along = (start: Expr): Expr => e.ramp(start, 1, Math.max(2, registerLanes(spec)));
  const leftAlongDepth = isContiguous(spec.a(batch, i, along(k)));
  const rightAlongDepth = isContiguous(spec.b(batch, along(k), j));
  const left = spec.a(batch, i, k);
  return {
    alongColumns: isContiguous(spec.b(batch, k, along(j))),
    alongDepth: leftAlongDepth && rightAlongDepth,
    leftAlongDepth,
    rightAlongDepth,
    isLeftBare: left.kind === 'load',
    isPlain: isPlain(left) && isPlain(spec.b(batch, k, j)),
  };
}
