import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import { contractDirect } from './gemm/direct.js';
import { contractDot } from './gemm/dot.js';
import { contractPacked } from './gemm/packed.js';
import { isContiguous, isPlain } from './gemm/reach.js';
import { known } from './gemm/sizes.js';
import { type Contraction, transposed } from './gemm/spec.js';
import { contractStreaming } from './gemm/streaming.js';

export type { Contraction } from './gemm/spec.js';

/**
 * The loops of a contraction. Large ones are packed (`gemm/packed.ts`), small ones and those of few
 * rows read their operands in place, with lanes along columns (`gemm/direct.ts`) or along the inner
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

/** The multiplications below which operands are not packed, if they can be read well where they are. */
const smallVolume = 2 ** 21;

/** A `b` beyond this is read in the order of memory by few rows: it is not in the second-level cache. */
const cachedBytes = 2 ** 20;

/** A `b` of no more registers across is read in place: padding to whole tiles would waste too much. */
const fewVectors = 4;

/**
 * One register tile is 4 rows by 2 vectors: 8 sums, 2 registers of `b` and 4 of `a`, which is what V8
 * keeps in the 15 vector registers that it hands out on x64.
 */
const tile = { rows: 4, vectors: 2 } as const;

/**
 * A panel of `b` (8 columns by 512) and one of `a` (4 rows by 512) stay in the first-level cache, a
 * block of `a` (240 by 512) in the second; measured best among its neighbours.
 */
const block = { blockRows: 240, blockColumns: 512, blockDepth: 512 } as const;

/** At most `fewRows`. */
function someRows(spec: Contraction): Stmt {
  const [n, k] = [known(spec.n), known(spec.k)];
  const bytes = n === null || k === null ? Infinity : n * k * e.scalarBytes(spec.scalar);
  const { alongColumns } = layoutOf(spec);
  const isNarrow = n !== null && n < fewVectors * lanesOf(spec);
  if (alongColumns && !isNarrow && bytes > cachedBytes) return contractStreaming(spec, fewRows);
  return inPlace(spec);
}

function manyRows(spec: Contraction): Stmt {
  const [m, n, k] = [known(spec.m), known(spec.n), known(spec.k)];
  const layout = layoutOf(spec);
  const lanes = lanesOf(spec);
  if (layout.isPlain) {
    const isNarrow = n !== null && n <= fewVectors * lanes;
    const isSmall = m !== null && n !== null && k !== null && m * n * k <= smallVolume;
    if (layout.alongColumns && (isNarrow || isSmall)) return inPlace(spec);
    const isShort = m !== null && m <= 16; // an element of `b` is used too rarely to pay for its copy
    const isLean = isShort || (isNarrow && n < fewVectors * lanes);
    if (layout.alongDepth && !layout.alongColumns && isLean) return inPlace(spec);
  }
  const rows = Math.max(tile.rows, lanes);
  return contractPacked(spec, { rows, columns: tile.vectors * lanes, lanes, ...block });
}

/** Without packing, by whichever loads serve several lanes. */
function inPlace(spec: Contraction): Stmt {
  const [m, n] = [known(spec.m), known(spec.n)];
  const lanes = lanesOf(spec);
  const { alongColumns, alongDepth } = layoutOf(spec);
  if (alongDepth && (!alongColumns || (n !== null && n < lanes)))
    return contractDot(spec, { rows: m === 1 ? 1 : 2, columns: 4 });
  if (m === null || m === 1) return contractDirect(spec, { rows: 1, vectors: 8 });
  const isWide = n !== null && n <= 8 * lanes && n % (4 * lanes) === 0;
  return contractDirect(spec, m === 2 || isWide ? { rows: 2, vectors: 4 } : tile);
}

interface Layout {
  /** Lanes of `b` along `j` lie side by side. */
  readonly alongColumns: boolean;
  /** Lanes of both operands along `k` lie side by side. */
  readonly alongDepth: boolean;
  /** Both operands may be computed any number of times. */
  readonly isPlain: boolean;
}

function layoutOf(spec: Contraction): Layout {
  const [batch, i, j, k] = ['batch', 'i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const along = (start: Expr): Expr => e.ramp(start, 1, Math.max(2, lanesOf(spec)));
  return {
    alongColumns: isContiguous(spec.b(batch, k, along(j))),
    alongDepth:
      isContiguous(spec.a(batch, i, along(k))) && isContiguous(spec.b(batch, along(k), j)),
    isPlain: isPlain(spec.a(batch, i, k)) && isPlain(spec.b(batch, k, j)),
  };
}

function lanesOf({ context, scalar }: Contraction): number {
  return context.target.vectorBytes / e.scalarBytes(scalar);
}
