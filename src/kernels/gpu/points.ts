import { Multiples } from '../../loop/analysis/multiples.js';
import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { gridLanes as lanes, overGrid, overGridOfVectors } from '../../loop/language/team.js';
import { ownExprs, substitution, visitExprs, visitStmts } from '../../loop/language/visit.js';
import type { NestLoop } from '../../ops/nests/nest.js';
import { laneStep } from '../contraction/reach.js';
import { known } from '../contraction/sizes.js';

/** Elements below which an invocation for each is worth more than fewer reads. */
const fewElements = 2 ** 12;

/** Expressions of a body that may be in the code a second time, for the elements behind the last whole vector. */
const mostRepeated = 100;

/** Points of a domain on their own: an invocation for each, or for four neighbors where all of them lie so in memory. */
export function overPoints(loops: readonly NestLoop[], body: (at: readonly Expr[]) => Stmt): Stmt {
  const extents = loops.map(({ extent }) => extent);
  const shape = vectorsOf(extents, body);
  if (shape === 'none') return overGrid(extents, body);
  if (shape === 'whole') return overGridOfVectors(extents, body);
  const [extent] = extents;
  const count = known(extent);
  const whole =
    count === null ? e.mul(e.div(extent, lanes), lanes) : e.i32(count - (count % lanes));
  // By one invocation, since several must not store parts of one vector.
  const tail = e.parallel(0, 1, 1, (from, to) =>
    e.forLoop('at', from, to, () => e.forLoop('at', whole, extent, (at) => body([at]))),
  );
  return e.block(overGridOfVectors([whole], body), tail);
}

/** Division of points into vectors; `tail`: with elements behind the last whole one. */
function vectorsOf(
  extents: readonly Expr[],
  body: (at: readonly Expr[]) => Stmt,
): 'whole' | 'tail' | 'none' {
  const counts = extents.map(known);
  const isShort = counts.reduce<number>((all, count) => all * (count ?? Infinity), 1) < fewElements;
  if (extents.length === 0 || isShort) return 'none';
  const isWhole = new Multiples(e.block()).of(extents[extents.length - 1]) % lanes === 0;
  if (!isWhole && extents.length > 1) return 'none';
  const reach = reachOf(extents.length, body);
  if (!reach.isOfNeighbors) return 'none';
  if (isWhole) return 'whole';
  return reach.expressions <= mostRepeated ? 'tail' : 'none';
}

/** Reads and stores of a body along the last of `rank` loops. */
function reachOf(
  rank: number,
  body: (at: readonly Expr[]) => Stmt,
): { readonly isOfNeighbors: boolean; readonly expressions: number } {
  const at = Array.from({ length: rank }, (_, axis) => e.variable(`i${axis}`, 'i32'));
  const last = at[rank - 1];
  const first = e.mul(last, lanes);
  const atFirst = substitution(new Map([[last, first]]));
  const inLanes = substitution(new Map([[last, e.ramp(first, 1, lanes)]]));
  const stmt = body(at);
  const multiples = new Multiples(stmt);
  const stepOf = (index: Expr): number | null =>
    index.type.lanes > 1 || index.type.scalar !== 'i32' ? null : laneStep(inLanes(index));
  const locals = new Set<Expr>();
  let isOfNeighbors = true;
  let expressions = 0;
  const require = (condition: boolean): void => void (isOfNeighbors &&= condition);
  visitStmts(stmt, (inner) => {
    require(['block', 'declare', 'store'].includes(inner.kind));
    if (inner.kind === 'declare') locals.add(inner.variable);
    if (inner.kind === 'store') {
      require(!inner.buffer.isPrivate && stepOf(inner.index) === 1);
      require(multiples.of(atFirst(inner.index)) % lanes === 0);
    }
    visitExprs(ownExprs(inner), (expr) => {
      expressions++;
      require(e.scalarBytes(expr.type.scalar) <= 4);
      if (expr.kind !== 'load') return;
      const step = stepOf(expr.index);
      require(!expr.buffer.isPrivate && (step === 0 || step === 1));
      visitExprs([expr.index], (part) => require(!locals.has(part)));
    });
  });
  return { isOfNeighbors, expressions };
}
