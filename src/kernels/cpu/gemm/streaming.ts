import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import {
  addBlock,
  addToLast,
  blockSums,
  blockTerms,
  overDepthBlocks,
  pairwise,
  putBlock,
} from './blocks.js';
import { dividedOf, overKind } from './region.js';
import { blockEnd, indices } from '../../contraction/sizes.js';
import { isLong } from '../../contraction/long-sums.js';
import type { Contraction } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';

/**
 * Few rows times a large row-major matrix. It is read once, in memory order, and the sums are kept in memory
 * meanwhile: walking down its columns instead would touch another page at every step. `mostRows` bounds `m`.
 */
export function contractStreaming(spec: Contraction, mostRows: number): Stmt {
  const { scalar, context, m, k } = spec;
  const lanes = context.target.vectorBytes / e.scalarBytes(scalar);
  const room = e.i32(mostRows * blockColumns);
  const sums = context.scratch('sums', scalarDTypes[scalar], room);
  const memory = isLong(spec) ? blockSums(spec, room) : null;
  const vectorAt = (at: Expr, width: number): Expr => (width === 1 ? at : e.ramp(at, 1, width));
  const row = (i: Expr): Expr => e.mul(i, blockColumns);

  /** Adds `depth` rows of `b` from `kk` on, each times its element of `a`, to the sums. */
  const addRows = (batch: Expr, j0: Expr, width: Expr, kk: Expr, depth: number): Stmt =>
    e.forLoop('i', 0, m, (i) => {
      const steps = indices(kk, depth);
      const factors = steps.map(() => e.variable('a', scalar));
      return e.block(
        ...steps.map((step, s) => e.declare(factors[s], spec.a(batch, i, step))),
        alongRow(width, lanes, (j, count) => {
          const at = vectorAt(e.add(row(i), j), count);
          const columns = vectorAt(e.add(j0, j), count);
          const before = e.load(sums, at);
          const terms = steps.map((step, s) => e.mul(factors[s], spec.b(batch, step, columns)));
          const sum =
            memory === null ? terms.reduce<Expr>(e.add, before) : e.add(before, pairwise(terms));
          return e.store(sums, at, sum);
        }),
      );
    });

  // Of one row, columns are what there is to divide.
  const chosen = dividedOf({ ...spec, m: e.i32(1) }, 1, columnsTogether);
  const divided = chosen === 'rows' ? 'columns' : chosen;
  const block = (batch: Expr, j0: Expr, j1: Expr): Stmt => {
    const width = e.sub(j1, j0);
    const eachRow = (visit: (i: Var, j: Expr, count: number) => Stmt): Stmt =>
      e.forLoop('i', 0, m, (i) => alongRow(width, lanes, (j, count) => visit(i, j, count)));
    const clear = eachRow((i, j, count) =>
      e.store(sums, vectorAt(e.add(row(i), j), count), e.constant(scalar, 0)),
    );
    const accumulate = (begin: Expr, end: Expr): Stmt => {
      const whole = e.sub(end, e.rem(e.sub(end, begin), rowsAtOnce));
      return e.block(
        e.forLoop('k', begin, whole, (kk) => addRows(batch, j0, width, kk, rowsAtOnce), {
          step: rowsAtOnce,
        }),
        e.forLoop('k', whole, end, (kk) => addRows(batch, j0, width, kk, 1)),
      );
    };
    const store = eachRow((i, j, count) =>
      spec.store(
        batch,
        i,
        vectorAt(e.add(j0, j), count),
        e.load(sums, vectorAt(e.add(row(i), j), count)),
      ),
    );
    if (memory === null) return e.block(clear, accumulate(e.i32(0), k), store);
    const each = (visit: (place: Expr, sum: Var) => Stmt): Stmt =>
      eachRow((i, j, count) => {
        const place = vectorAt(e.add(row(i), j), count);
        const sum = e.variable('sum', scalar, count);
        return e.block(e.declare(sum, e.load(sums, place)), visit(place, sum));
      });
    const last = each((place, sum) =>
      e.block(addToLast(memory, place, sum), e.store(sums, place, sum)),
    );
    return overDepthBlocks(k, { begin: e.i32(0), end: k }, blockTerms * rowsAtOnce, (from, to) =>
      e.block(
        clear,
        accumulate(from, to),
        e.ifThen(
          e.ge(to, k),
          e.block(e.ifThen(e.gt(from, 0), last), store),
          e.ifThen(
            e.gt(from, 0),
            each((place, sum) => addBlock(memory, place, sum)),
            each((place, sum) => putBlock(memory, place, sum)),
          ),
        ),
      ),
    );
  };
  return overKind(spec, divided, 'batch', 1, ({ begin, end }) =>
    e.forLoop('batch', begin, end, (batch) =>
      overKind(spec, divided, 'columns', columnsTogether, (columns) =>
        e.forLoop(
          'columns',
          columns.begin,
          columns.end,
          (j0) => block(batch, j0, blockEnd(j0, blockColumns, columns.end)),
          { step: blockColumns },
        ),
      ),
    ),
  );
}

/** Columns of a block: one page of float32 of each row of `b`, and sums that stay in the first-level cache. */
const blockColumns = 1024;

/** Columns that one thread computes together: whole vectors and cache lines, for any type. */
const columnsTogether = 64;

/**
 * Rows of `b` processed together, so that the sums are loaded and stored once for all of them, and grow by
 * one term.
 */
const rowsAtOnce = 4;

/** Covers `0 .. width` with vectors, and the remainder with single elements. */
function alongRow(width: Expr, lanes: number, body: (j: Var, count: number) => Stmt): Stmt {
  const whole = e.sub(width, e.rem(width, lanes));
  return e.block(
    e.forLoop('j', 0, whole, (j) => body(j, lanes), { step: lanes }),
    e.forLoop('j', whole, width, (j) => body(j, 1)),
  );
}
