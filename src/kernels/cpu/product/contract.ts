import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { packedStates } from '../../../ops/declare/lowering.js';
import { contractDirect } from '../gemm/direct.js';
import { contractDot } from '../gemm/dot.js';
import { contractPacked, type PackedForm } from '../gemm/packed.js';
import { isContiguous, isDecidedBy, isPlain } from '../gemm/reach.js';
import { dividedOf } from '../gemm/region.js';
import { roomForPanels } from '../gemm/right.js';
import {
  bestTile,
  blockingFor,
  registerLanes,
  narrowLaneCount,
  type TileShape,
} from '../gemm/shape.js';
import { known } from '../gemm/sizes.js';
import { type Contraction, sumDTypes, transposed } from '../gemm/spec.js';
import { contractStreaming } from '../gemm/streaming.js';

export type { Contraction } from '../gemm/spec.js';

/**
 * The loops of a contraction. Large ones copy `b` panel by panel (`gemm/packed.ts`), small ones and those of
 * few rows read their operands in place, with lanes along columns (`gemm/direct.ts`) or along the inner
 * index (`gemm/dot.ts`), whichever lies side by side in memory, or a large matrix in the order of
 * memory (`gemm/streaming.ts`). The choice never changes a result by more than the rounding of another
 * order of summation. A symbolic `m` gets both forms, and the size decides when the kernel runs.
 */
export function contract(spec: Contraction): Stmt {
  // Few columns are few rows of the transposes.
  const oriented = known(spec.n) === 1 && known(spec.m) !== 1 ? transposed(spec) : spec;
  const { m } = oriented;
  const rows = known(m);
  if (rows !== null) return rows <= fewRows ? someRows(oriented) : manyRows(oriented);
  return e.ifThen(e.le(m, fewRows), someRows(oriented), manyRows(oriented));
}

/** Up to here packing `b` costs more than it saves, since each packed element is used so rarely. */
const fewRows = 4;

/** The multiplications below which narrow vectors read operands where they are. */
const smallVolume = 2 ** 21;

/** A `b` of no more registers across is read in place: its rows fit few cache lines. */
const fewVectors = 4;

/** At most `fewRows`. */
function someRows(spec: Contraction): Stmt {
  const { alongColumns, alongDepth } = layoutOf(spec);
  const n = known(spec.n);
  const isNarrow = n !== null && n < fewVectors * registerLanes(spec);
  // What is not in the second-level cache is read in the order of memory.
  if (alongColumns && !isNarrow && bytesOfRight(spec) > spec.context.target.secondCache)
    return contractStreaming(spec, fewRows);
  if (alongDepth && (!alongColumns || (n !== null && n < registerLanes(spec)))) return dot(spec);
  return direct(spec);
}

/** How a product of many rows is worked off. */
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
  const kept = spec.rightKeeper!.keep('panels', sumDTypes[spec.scalar], room);
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
  const [m, n, k] = [known(spec.m), known(spec.n), known(spec.k)];
  if (layout.isPlain) {
    const isNarrow = n !== null && n <= fewVectors * lanes;
    const isSmall = m !== null && n !== null && k !== null && m * n * k <= smallVolume;
    if (layout.alongColumns && (isNarrow || isSmall)) return 'direct';
    const isShort = m !== null && m <= 16; // an element of `b` is used too rarely to pay for its copy
    const isLean = isShort || (isNarrow && n < fewVectors * lanes);
    if (layout.alongDepth && !layout.alongColumns && isLean) return 'dot';
  }
  return 'packed';
}

/** More rows than that read a panel so often that making it does not count. */
const mostRowsForKept = 512;

/** A `b` of fewer bytes is copied too quickly to pay for the code that looks whether it has to be. */
const leastBytesForKept = 2 ** 16;

/**
 * Whether panels of `b` are to be kept: where that is a gain, and where it is worth the code of another method for
 * runs without. Inner products add up in another order, so they give way in loops only, where no run is without.
 */
function mayKeep(spec: Contraction, method: Method): boolean {
  const { rightKeeper: keeper = null } = spec;
  const bytes = bytesOfRight(spec);
  const height = known(spec.m);
  if (keeper === null || known(spec.batch) !== 1) return false;
  // Of an unknown number of rows there may be so few that panels are not made.
  if (height === null || height > mostRowsForKept) return false;
  if (bytes < leastBytesForKept || bytes === Infinity) return false;
  const isWide = registerLanes(spec) > narrowLaneCount;
  if (!(method === 'packed' || (method === 'dot' && keeper.isCertain) || isWide)) return false;
  const [batch, k, j] = ['batch', 'k', 'j'].map((name) => e.variable(name, 'i32'));
  if (!isDecidedBy(spec.b(batch, k, j), [batch, k, j])) return false;
  // Threads share what is kept, so each must have columns of its own.
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
  const shape = bestTile(target, spec.m, spec.n, lanes);
  const { leftAlongDepth, isLeftBare, rightAlongDepth, alongColumns } = layoutOf(spec);
  const isWhole = bytesOfRight(spec) <= target.secondCache / 4;
  return {
    ...shape,
    ...blockingFor(target, shape, lanes, spec.k, isWhole),
    left: !leftAlongDepth ? 'interleaved' : isLeftBare ? 'in place' : 'in rows',
    isTurned: rightAlongDepth && !alongColumns,
    isWhole,
  };
}

function dot(spec: Contraction): Stmt {
  return contractDot(spec, { rows: known(spec.m) === 1 ? 1 : 2, columns: 4 });
}

function direct(spec: Contraction): Stmt {
  const { target } = spec.context;
  const [m, n] = [known(spec.m), known(spec.n)];
  const lanes = registerLanes(spec);
  if (m === null || m === 1) return contractDirect(spec, { rows: 1, vectors: 8 });
  const isWide = n !== null && n <= 8 * lanes && n % (4 * lanes) === 0;
  if (!target.fusesMultiplyAdd && (m === 2 || isWide))
    return contractDirect(spec, { rows: 2, vectors: 4 });
  return contractDirect(spec, shapeOf(spec));
}

/** The tile for operands that are read in place. */
function shapeOf(spec: Contraction): TileShape {
  return bestTile(spec.context.target, spec.m, spec.n, registerLanes(spec));
}

/** More rows than that read a copy of a `b` that the second cache holds often enough. */
const mostRowsInPlace = 128;

/** Whether wide vectors read `b` where it is: the cache holds it, and rows are few or panels no gain (decisions 41, 42). */
function isReadInPlace(spec: Contraction): boolean {
  const { inPlace, secondCache } = spec.context.target;
  const bytes = bytesOfRight(spec);
  const rows = known(spec.m);
  return bytes <= inPlace || (rows !== null && rows <= mostRowsInPlace && bytes <= secondCache / 2);
}

/** More rows than that read a copy of a larger `b` often enough. */
const mostRowsInParts = 256;

/**
 * How much of `k` an eighth of the second cache holds of a `b` of which all is too much, where there are so few
 * rows that a copy would not be read often enough; null where a copy is better, or sizes are not known.
 */
function partOfDepth({ m, n, k, scalar, context }: Contraction): number | null {
  const [rows, columns, depth] = [known(m), known(n), known(k)];
  if (rows === null || columns === null || depth === null || rows > mostRowsInParts) return null;
  const bytes = columns * e.scalarBytes(scalar);
  // A second cache that is small leaves too little beside an eighth: panels are faster (decision 42).
  if (context.target.inPlace < context.target.secondCache / 2) return null;
  // Rows of `b` that are further apart lie on pages of their own, all in the same lines of the first cache.
  if (bytes > pageBytes / 2) return null;
  const most = Math.floor(context.target.secondCache / 8 / bytes);
  return Math.ceil(depth / Math.ceil(depth / most));
}

const pageBytes = 4096;

/**
 * Whether the transposes are cheaper where both operands lie along `k`: the one with the lanes has to be
 * turned while it is packed, element by element, and so has the result if that is the one on the left.
 */
function isCheaperTurned(spec: Contraction): boolean {
  const [m, n, k] = [known(spec.m), known(spec.n), known(spec.k)];
  return m !== null && n !== null && k !== null && m * (k + n) < n * k;
}

function bytesOfRight({ n, k, scalar }: Contraction): number {
  const [columns, depth] = [known(n), known(k)];
  return columns === null || depth === null ? Infinity : columns * depth * e.scalarBytes(scalar);
}

interface Layout {
  /** Lanes of `b` along `j` lie side by side. */
  readonly alongColumns: boolean;
  /** Lanes of both operands along `k` lie side by side. */
  readonly alongDepth: boolean;
  /** Lanes of `a`, or of `b`, along `k` lie side by side. */
  readonly leftAlongDepth: boolean;
  readonly rightAlongDepth: boolean;
  /** Elements of `a` are read, and nothing else is done to them. */
  readonly isLeftBare: boolean;
  /** Both operands may be computed any number of times. */
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
