import * as e from '../../../loop/build.js';
import type { Expr, Stmt } from '../../../loop/nodes.js';
import { contractDirect } from './direct.js';
import { lanesOf, type TileShape } from './shape.js';
import { divides, known, product, roundUp } from './sizes.js';
import { type Contraction, sumDTypes } from './spec.js';

/**
 * Register tiles over `a` where it is and a copy of `b`, whose columns lie along `k`, in which lanes of columns
 * lie side by side: for a `b` that the second cache holds as a whole, where no tile needs it in a panel.
 */
export function contractTurned(spec: Contraction, shape: TileShape): Stmt {
  const { k, n, scalar, context } = spec;
  const distance = distanceBetween(n, lanesOf(spec));
  const copy = context.scratch('turned', sumDTypes[scalar], product(k, distance));
  const at = (row: Expr, j: Expr): Expr => {
    const start = e.mul(row, distance);
    return j.type.lanes === 1 ? e.add(start, j) : e.add(e.broadcast(start, j.type.lanes), j);
  };
  const turn = (batch: Expr): Stmt =>
    e.forLoop(
      'strip',
      0,
      k,
      (k0) =>
        e.forLoop('j', 0, n, (j) =>
          e.forLoop('k', k0, stripEnd(k0, k), (row) =>
            e.store(copy, at(row, j), spec.b(batch, row, j)),
          ),
        ),
      { step: strip },
    );
  return contractDirect({ ...spec, b: (_, row, j) => e.load(copy, at(row, j)) }, shape, {
    before: turn,
  });
}

/** A cache line of each column at a time, which goes to as many rows, so that their lines fill up in the first cache. */
const strip = 16;

function stripEnd(k0: Expr, k: Expr): Expr {
  const end = e.add(k0, strip);
  return divides(k, strip) ? end : e.min(end, k);
}

/** Rows of whole vectors, and not a power of two apart: those would compete for the same lines of the first cache. */
function distanceBetween(n: Expr, lanes: number): Expr {
  const width = roundUp(n, lanes);
  const size = known(width);
  return size !== null && size % 256 === 0 ? e.i32(size + lanes) : width;
}
