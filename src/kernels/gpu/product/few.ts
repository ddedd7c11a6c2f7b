import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import { scalarDTypes, storageOf } from '../../../ops/elements.js';
import { isContiguous } from '../../contraction/reach.js';
import { known, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { sumInBlocks } from './blocks.js';

/** Rows or columns of a product that reads its larger operand once, rather than by tiles. */
const few = 4;

/** True for products of so few rows or columns that tiles would be mostly empty. */
export function isThin({ m, n }: Contraction): boolean {
  return [m, n].some((extent) => (known(extent) ?? Infinity) <= few);
}

const invocations = 256;

/** Invocations that share one result: neighbors along `k`, or some of a group whose neighbors have other columns. */
function partialsFor({ k, m, n, batch }: Contraction, isAlong: boolean): number {
  const terms = known(k) ?? Infinity;
  const results = (known(m) ?? Infinity) * (known(n) ?? Infinity) * (known(batch) ?? Infinity);
  if (results === 1) return invocations;
  if (!isAlong) return results <= 8 ? 32 : 8;
  return terms >= 256 ? 64 : 16;
}

/**
 * A contraction whose results are folded by several invocations each, which join their sums pairwise in memory of the
 * workgroup: for matrices that meet few vectors.
 */
export function thinProduct(spec: Contraction): Stmt {
  const { batch, m, n, k, scalar } = spec;
  // The longer side is along the results that are neighbors.
  const isTall = known(n) !== null && known(n)! <= few && (known(m) ?? Infinity) > known(n)!;
  const extents = isTall ? [batch, n, m] : [batch, m, n];
  const [b0, i0, j0, k0] = ['b', 'i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const steps = e.ramp(k0, 1, 4);
  const isAlong = isContiguous(isTall ? spec.a(b0, i0, steps) : spec.b(b0, steps, j0));
  const partials = partialsFor(spec, isAlong);
  const results = invocations / partials;
  const count = product(...extents);
  const groups = e.div(e.add(count, results - 1), results);
  const memory = e.buffer('sums', storageOf(scalarDTypes[scalar]));
  return e.workgroups(
    groups,
    invocations,
    [{ buffer: memory, length: invocations }],
    (group, own) => {
      const low = isAlong ? partials : results;
      const [inner, outer] = [e.and(own, low - 1), e.shr(own, Math.log2(low))];
      const [partial, result] = isAlong ? [inner, outer] : [outer, inner];
      const stride = isAlong ? 1 : results;
      const at = e.variable('result', 'i32');
      const sum = e.variable('sum', scalar);
      const [entry, ...sides] = unravel(at, extents);
      const [i, j] = isTall ? [sides[1], sides[0]] : sides;
      const isLive = e.lt(at, count);
      const add = (kk: Expr): Stmt =>
        e.assign(sum, e.add(sum, e.mul(spec.a(entry, i, kk), spec.b(entry, kk, j))));
      const ownTerms = e.div(e.add(e.sub(k, partial), partials - 1), partials);
      const sumUp = (begin: Expr, end: Expr): Stmt =>
      e.forLoop('k', begin, end, (step) => add(e.add(e.mul(step, partials), partial))); // prettier-ignore
      const tree = e.forLoop('level', 0, Math.log2(partials), (level) => {
        const half = e.shr(e.i32(partials / 2), level);
        const other = e.load(memory, e.add(own, e.mul(half, stride)));
        const joined = e.store(memory, own, e.add(e.load(memory, own), other));
        return e.block(e.ifThen(e.lt(partial, half), joined), e.workgroupBarrier);
      });
      const isFirst = e.and(isLive, e.eq(partial, 0));
      return e.block(
        e.declare(at, e.add(e.mul(group, results), result)),
        e.declare(sum, e.constant(scalar, 0)),
        e.ifThen(isLive, sumInBlocks([sum], ownTerms, k, 1, sumUp)),
        e.store(memory, own, sum),
        e.workgroupBarrier,
        tree,
        e.ifThen(isFirst, spec.store(entry, i, j, e.load(memory, own))),
      );
    },
  );
}
