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
import { multiplyPanels } from './multiply.js';
import { LeftPanel, RightPanel } from './panels.js';
import { resultElements, type ResultTile, storeResults } from './results.js';
import { highOf, invocationsOf, leftElements, panelElements, type ProductTile, wideOf } from './tile.js'; // prettier-ignore

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
  const entry = e.variable('entry', 'i32');
  const isAcross = isContiguous(spec.b(entry, kk, e.ramp(j, 1, lanes)));
  const isAlong = isContiguous(spec.a(entry, i, e.ramp(kk, 1, lanes)));
  const distance = isAcross && divides(n, lanes) ? 1 : across;
  const memory = e.buffer('tile', storageOf(scalarDTypes[scalar]));
  const left = new LeftPanel(spec, tile, memory, isAlong);
  const right = new RightPanel(spec, tile, memory, leftElements(tile), { distance, isAcross });
  const count = rows * vectors;
  const results: ResultTile = {
    tile, distance, m, n,
    store: (i, j, value) => spec.store(entry, i, j, value),
  }; // prettier-ignore
  const length = Math.max(panelElements(tile), resultElements(results));
  const groups = product(batch, down, beside);
  return e.workgroups(groups, invocations, [{ buffer: memory, length }], (group, own) => {
    const [i0, j0] = ['row', 'column'].map((name) => e.variable(name, 'i32'));
    const [b, ti, tj] = unravel(group, [batch, down, beside]);
    const [x, y] = [e.and(own, across - 1), e.shr(own, Math.log2(across))];
    const sums = Array.from({ length: count }, (_, at) => e.variable(`sum${at}`, scalar, lanes));
    const totalsFor = (of: readonly Var[]): BlockTotals => {
      if (count <= fewSums) return totalsInLocals(of);
      const length = e.i32(count * lanes);
      return totalsInMemory(of, spec.context.scratch('totals', scalarDTypes[scalar], length));
    };
    const steps = (begin: Expr, end: Expr): Stmt =>
      e.forLoop(
        'k0',
        begin,
        end,
        (k0) =>
          e.block(
            left.fill(own, entry, i0, k0),
            right.fill(own, entry, j0, k0),
            e.workgroupBarrier,
            multiplyPanels(
              sums,
              tile,
              (row, at) => left.at(e.add(y, row * below), at),
              (vector, at) => right.at(e.add(x, vector * across), at),
            ),
            e.workgroupBarrier,
          ),
        { step: depth },
      );
    return e.block(
      e.declare(entry, b),
      e.declare(i0, e.mul(ti, high)),
      e.declare(j0, e.mul(tj, wide)),
      ...sums.map((sum) => e.declare(sum, e.constant(scalar, 0, lanes))),
      sumInBlocks(sums, k, k, depth, steps, totalsFor),
      storeResults(sums, results, memory, own, [i0, j0]),
    );
  });
}

/** The tiles that cover an extent. */
export function tilesOf(extent: Expr, step: number): Expr {
  const size = known(extent);
  return size === null ? e.div(e.add(extent, step - 1), step) : e.i32(Math.ceil(size / step));
}
