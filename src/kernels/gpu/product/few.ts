import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import { scalarDTypes, storageOf } from '../../../ops/elements.js';
import { isContiguous } from '../../contraction/reach.js';
import { divides, known, product } from '../../contraction/sizes.js';
import { type Contraction, transposed } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { KernelCall } from '../choices.js';
import { sumInBlocks } from './blocks.js';
import { chosenForProduct } from './choice.js';

/** Rows or columns of a product that reads its larger operand once, rather than by tiles. */
const few = 4;

/** True for products of so few rows or columns that tiles would be mostly empty. */
export function isThin({ m, n }: Contraction): boolean {
  return [m, n].some((extent) => (known(extent) ?? Infinity) <= few);
}

const invocations = 256;

/** Axis of the lanes of vectors: neighbors along `k`, neighboring columns, or null where single elements are read. */
type LaneAxis = 'terms' | 'columns' | null;

/** Candidates for the invocations that share one result, by their names, the usual one first. */
function partialsFor(...given: Parameters<typeof usualPartials>): ReadonlyMap<string, number> {
  const all = [usualPartials(...given), 8, 16, 32, 64, 128, invocations];
  return new Map(all.map((partials) => [`${partials} for each result`, partials]));
}

/** Invocations that share one result: neighbors along `k`, or some of a group whose neighbors have other columns. */
function usualPartials({ k, m, n, batch }: Contraction, isAlong: boolean, axis: LaneAxis): number {
  const terms = known(k) ?? Infinity;
  const results = (known(m) ?? Infinity) * (known(n) ?? Infinity) * (known(batch) ?? Infinity);
  if (results === 1) return invocations;
  if (isAlong) return terms >= (axis === null ? 256 : 512) ? 64 : 16;
  // As many columns for a workgroup with vectors as without.
  if (axis === 'columns') return terms >= 128 ? 8 * lanes : 8;
  return results <= 8 ? 32 : 8;
}

/**
 * A contraction whose results are folded by several invocations each, which join their sums pairwise in memory of the
 * workgroup: for matrices that meet few vectors. Four neighbors of the larger operand are read at once where they are
 * evident: four terms of one result, or one term of four results.
 */
export function thinProduct(given: Contraction, call: KernelCall): Stmt {
  const isTall = known(given.n) !== null && known(given.n)! <= few && (known(given.m) ?? Infinity) > known(given.n)!; // prettier-ignore
  // The longer side is along the results that are neighbors.
  const spec = isTall ? transposed(given) : given;
  const { batch, m, n, k, scalar } = spec;
  const [entry0, j0, k0] = ['b', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const isAlong = isContiguous(spec.b(entry0, e.ramp(k0, 1, lanes), j0));
  const isAcross = isContiguous(spec.b(entry0, k0, e.ramp(j0, 1, lanes)));
  const axis = isAlong && divides(k, lanes) ? 'terms' : !isAlong && isAcross && divides(n, lanes) ? 'columns' : null; // prettier-ignore
  const partials = chosenForProduct(given, call, 'few', partialsFor(spec, isAlong, axis));
  const results = invocations / partials;
  /** Neighboring results of an invocation. */
  const columns = axis === 'columns' ? lanes : 1;
  const extents = [batch, m, axis === 'columns' ? e.i32(known(n)! / lanes) : n];
  const count = product(...extents);
  const groups = e.div(e.add(count, results - 1), results);
  const memory = e.buffer('sums', storageOf(scalarDTypes[scalar]));
  const length = invocations * columns;
  return e.workgroups(groups, invocations, [{ buffer: memory, length }], (group, own) => {
    const low = isAlong ? partials : results;
    const [inner, outer] = [e.and(own, low - 1), e.shr(own, Math.log2(low))];
    const [partial, result] = isAlong ? [inner, outer] : [outer, inner];
    const stride = isAlong ? 1 : results;
    const at = e.variable('result', 'i32');
    const sum = e.variable('sum', scalar, axis === null ? 1 : lanes);
    const [entry, i, column] = unravel(at, extents);
    const j = columns === 1 ? column : e.ramp(e.mul(column, columns), 1, columns);
    const isLive = e.lt(at, count);
    const add = (step: Expr): Stmt => {
      const kk = axis === 'terms' ? e.ramp(e.mul(step, lanes), 1, lanes) : step;
      const term = e.mul(spec.a(entry, i, kk), spec.b(entry, kk, j));
      return e.assign(sum, e.add(sum, e.broadcast(term, sum.type.lanes)));
    };
    const steps = axis === 'terms' ? e.i32(known(k)! / lanes) : k;
    const ownSteps = e.div(e.add(e.sub(steps, partial), partials - 1), partials);
    const sumUp = (begin: Expr, end: Expr): Stmt =>
      e.forLoop('k', begin, end, (step) => add(e.add(e.mul(step, partials), partial)));
    const place = (invocation: Expr): Expr =>
      columns === 1 ? invocation : e.ramp(e.mul(invocation, columns), 1, columns);
    const summed = (invocation: Expr): Expr => e.load(memory, place(invocation));
    const tree = e.forLoop('level', 0, Math.log2(partials), (level) => {
      const half = e.shr(e.i32(partials / 2), level);
      const other = summed(e.add(own, e.mul(half, stride)));
      const joined = e.store(memory, place(own), e.add(summed(own), other));
      return e.block(e.ifThen(e.lt(partial, half), joined), e.workgroupBarrier);
    });
    const isFirst = e.and(isLive, e.eq(partial, 0));
    const total = axis === 'terms' ? sumOfLanes(sum) : sum;
    return e.block(
      e.declare(at, e.add(e.mul(group, results), result)),
      e.declare(sum, e.constant(scalar, 0, sum.type.lanes)),
      e.ifThen(isLive, sumInBlocks([sum], ownSteps, k, 1, sumUp)),
      e.store(memory, place(own), total),
      e.workgroupBarrier,
      tree,
      e.ifThen(isFirst, spec.store(entry, i, j, summed(own))),
    );
  });
}

/** The sum of the lanes of a vector, by halves. */
function sumOfLanes(vector: Expr): Expr {
  const [a, b, c, d] = Array.from({ length: lanes }, (_, lane) => e.extract(vector, lane));
  return e.add(e.add(a, c), e.add(b, d));
}
