import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import { scalarDTypes, storageOf } from '../../../ops/elements.js';
import { isContiguous } from '../../contraction/reach.js';
import { divides, known, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import {
  type BlockTotals,
  fewSums,
  sumInBlocks,
  totalsInLocals,
  totalsInMemory,
} from './blocks.js';
import { Panels } from './panels.js';
import { highOf, invocationsOf, mostElements, type ProductTile, wideOf } from './tile.js';

/**
 * A contraction by workgroups, each of which has a tile of the results: it holds some columns of `a` and rows of `b` at a
 * time in its memory, so that an operand is read once for each tile that it meets. Everything is in vectors: four
 * steps of a row of `a`, four columns of a row of `b`, four results. The columns of a vector are neighbors where that is
 * how they lie in memory, else as far apart as there are invocations beside each other, whose elements are then
 * neighbors.
 */
export function tiledProduct(spec: Contraction, tile: ProductTile): Stmt {
  const { batch, m, n, k, scalar } = spec;
  const { rows, vectors, across, below, depth } = tile;
  const [high, wide, invocations] = [highOf(tile), wideOf(tile), invocationsOf(tile)];
  const [down, beside] = [tilesOf(m, high), tilesOf(n, wide)];
  const [i, j, kk] = ['i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const first = e.variable('entry', 'i32');
  const isAcross = isContiguous(spec.b(first, kk, e.ramp(j, 1, lanes)));
  const areNeighbors = isAcross && divides(n, lanes);
  const distance = areNeighbors ? 1 : across;
  const panels = new Panels(spec, tile, {
    distance,
    isAlongLeft: isContiguous(spec.a(first, i, e.ramp(kk, 1, lanes))),
    isAcrossRight: isAcross,
  });
  const count = rows * vectors;
  // Results go by way of memory in rounds, so that what follows a product is in the code once for each.
  const together = Math.min(count, mostElements / (invocations * lanes));
  /** True where all columns of a vector are results, or none is. */
  const isWhole = divides(n, areNeighbors ? lanes : wide);
  const isSingle = count === 1 && isWhole;
  const length = Math.max(panels.length, isSingle ? 0 : together * invocations * lanes);
  const memory = e.buffer('tile', storageOf(scalarDTypes[scalar]));
  const groups = product(batch, down, beside);
  return e.workgroups(groups, invocations, [{ buffer: memory, length }], (group, own) => {
    const [entry, i0, j0] = ['entry', 'row', 'column'].map((name) => e.variable(name, 'i32'));
    const [b, ti, tj] = unravel(group, [batch, down, beside]);
    const [x, y] = [e.and(own, across - 1), e.shr(own, Math.log2(across))];
    const sums = Array.from({ length: count }, (_, at) => e.variable(`sum${at}`, scalar, lanes));
    const totalsFor = (of: readonly Var[]): BlockTotals => {
      if (count <= fewSums) return totalsInLocals(of);
      const length = e.i32(count * lanes);
      return totalsInMemory(of, spec.context.scratch('totals', scalarDTypes[scalar], length));
    };
    const rowAt = (row: Expr | number): Expr => e.add(y, e.mul(e.add(row, e.i32(0)), below));
    const steps = (begin: Expr, end: Expr): Stmt =>
      e.forLoop(
        'k0',
        begin,
        end,
        (k0) =>
          e.block(
            panels.fillLeft(memory, own, entry, i0, k0),
            panels.fillRight(memory, own, entry, j0, k0),
            e.workgroupBarrier,
            e.forLoop(
              'kk',
              0,
              depth,
              (at) =>
                multiply(
                  sums,
                  Array.from({ length: rows }, (_, row) => panels.left(memory, rowAt(row), at)),
                  Array.from({ length: lanes }, (_, lane) =>
                    Array.from({ length: vectors }, (_, vector) =>
                      panels.right(memory, e.add(x, vector * across), e.add(at, lane)),
                    ),
                  ),
                ),
              { step: lanes },
            ),
            e.workgroupBarrier,
          ),
        { step: depth },
      );
    /** Stores results of an invocation: `lane` of a vector, or all of them. */
    const storeAt = (row: Expr, vector: Expr, lane: Expr | null, value: Expr): Stmt => {
      const [at, column] = [e.variable('i', 'i32'), e.variable('j', 'i32')];
      const start = areNeighbors
        ? e.mul(e.add(x, e.mul(vector, across)), lanes)
        : e.add(x, e.mul(vector, across * lanes));
      const own = lane === null ? start : e.add(start, e.mul(lane, distance));
      const columns = lane === null ? e.ramp(column, distance, lanes) : column;
      const isInside = [
        ...(divides(m, high) ? [] : [e.lt(at, m)]),
        ...(divides(n, wide) ? [] : [e.lt(column, n)]),
      ];
      const store = spec.store(entry, at, columns, value);
      return e.block(
        e.declare(at, e.add(i0, rowAt(row))),
        e.declare(column, e.add(j0, own)),
        isInside.length === 0 ? store : e.ifThen(isInside.reduce((a, b) => e.and(a, b)), store), // prettier-ignore
      );
    };
    /** The place of a vector of this invocation in memory. */
    const place = (at: Expr | number): Expr =>
      e.mul(e.add(own, e.mul(e.add(at, e.i32(0)), invocations)), lanes);
    const rowOf = (result: Expr): Expr => e.shr(result, Math.log2(vectors));
    const vectorOf = (result: Expr): Expr => e.and(result, vectors - 1);
    const rounds = Array.from({ length: count / together }, (_, round) => {
      const first = round * together;
      return e.block(
        ...sums
          .slice(first, first + together)
          .map((sum, at) => e.store(memory, e.ramp(place(at), 1, lanes), sum)),
        isWhole
          ? e.forLoop('result', 0, together, (at) => {
              const result = e.add(at, first);
              const value = e.load(memory, e.ramp(place(at), 1, lanes));
              return storeAt(rowOf(result), vectorOf(result), null, value);
            })
          : e.forLoop('result', 0, together * lanes, (at) => {
              const [vector, lane] = [e.shr(at, Math.log2(lanes)), e.and(at, lanes - 1)];
              const result = e.add(vector, first);
              const value = e.load(memory, e.add(place(vector), lane));
              return storeAt(rowOf(result), vectorOf(result), lane, value);
            }),
      );
    });
    return e.block(
      e.declare(entry, b),
      e.declare(i0, e.mul(ti, high)),
      e.declare(j0, e.mul(tj, wide)),
      ...sums.map((sum) => e.declare(sum, e.constant(scalar, 0, lanes))),
      sumInBlocks(sums, k, k, depth, steps, totalsFor),
      ...(isSingle ? [storeAt(e.i32(0), e.i32(0), null, sums[0])] : rounds),
    );
  });
}

/** The tiles that cover an extent. */
function tilesOf(extent: Expr, step: number): Expr {
  const size = known(extent);
  return size === null ? e.div(e.add(extent, step - 1), step) : e.i32(Math.ceil(size / step));
}

/**
 * Adds products of four steps to sums, by rows: `left` has four steps of each row, `right` for each step the columns.
 */
function multiply(
  sums: readonly Var[],
  left: readonly Expr[],
  right: readonly (readonly Expr[])[],
): Stmt {
  const locals = (name: string, of: readonly Expr[]): readonly Var[] =>
    of.map(({ type }, at) => e.variable(`${name}${at}`, type.scalar, type.lanes));
  const columns = right.flat();
  const [a, b] = [locals('a', left), locals('b', columns)];
  const vectors = right[0].length;
  return e.block(
    ...a.map((local, at) => e.declare(local, left[at])),
    ...right.flatMap((_, step) => [
      ...Array.from({ length: vectors }, (_, at) => step * vectors + at).map((at) =>
        e.declare(b[at], columns[at]),
      ),
      ...sums.map((sum, at) => {
        const factor = e.extract(a[Math.floor(at / vectors)], step);
        return e.assign(sum, e.add(sum, e.mul(factor, b[step * vectors + (at % vectors)])));
      }),
    ]),
  );
}
