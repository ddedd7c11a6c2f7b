import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { computeScalar, type KernelContext } from '../declare/lowering.js';
import { overAll } from '../loops.js';

/**
 * Tests whether `a` comes before `b`. Of floats NaN counts as greater than every number, so it comes last in
 * ascending order and first in descending order; both zeros are equal.
 */
export function comesBefore(a: Expr, b: Expr, descending: boolean): Expr {
  if (a.type.scalar === 'bool') return comesBefore(e.cast('i32', a), e.cast('i32', b), descending);
  const [low, high] = descending ? [b, a] : [a, b];
  const isLess = e.lt(low, high);
  if (a.type.scalar !== 'f32' && a.type.scalar !== 'f64') return isLess;
  return e.or(isLess, e.and(e.ne(high, high), e.eq(low, low)));
}

/** The attributes of sorts along an axis. */
export interface SortAttributes {
  readonly axis: number;
  readonly descending: boolean;
}

/** The axis of a sort, counted from 0; inference has checked that there is one. */
export function sortedAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/**
 * Stores the positions of the elements of each row along an axis in sorted order, as far as the result reaches. The
 * rank of an element is the number of those that come before it: smaller ones, and equal ones at earlier positions.
 */
export function rankNest(context: KernelContext<SortAttributes>): Stmt {
  const {
    attributes: { axis, descending },
    inputs: [x],
    outputs: [sink],
  } = context;
  const along = sortedAxis(axis, x.shape.length);
  return overAll(
    x.shape.toSpliced(along, 1),
    (row) =>
      ranked(
        x.shape[along],
        sink.shape[along],
        (other, own) => {
          const [a, b] = [other, own].map((at) => x.at(row.toSpliced(along, 0, at)));
          return {
            prepare: [],
            isBefore: comesBefore(a, b, descending),
            isBehind: comesBefore(b, a, descending),
          };
        },
        (rank, position) =>
          sink.store(row.toSpliced(along, 0, rank), e.cast(computeScalar(sink.dtype), position)),
      ),
    'serial',
    context,
  );
}

/** Stores the positions that sort the rows of a matrix in lexicographic order. */
export function rowRankNest({ inputs: [x], outputs: [sink] }: KernelContext<unknown>): Stmt {
  const [length, width] = x.shape;
  return ranked(
    length,
    length,
    (other, own) => {
      const [isBefore, isBehind] = ['isBefore', 'isBehind'].map((name) => e.variable(name, 'bool'));
      const compared = e.forLoop('column', 0, width, (column) => {
        const [a, b] = [x.at([other, column]), x.at([own, column])];
        const next = e.block(
          e.assign(isBefore, comesBefore(a, b, false)),
          e.assign(isBehind, comesBefore(b, a, false)),
        );
        return e.ifThen(e.not(e.or(isBefore, isBehind)), next);
      });
      const no = e.constant('bool', 0);
      const prepare = [e.declare(isBefore, no), e.declare(isBehind, no), compared];
      return { prepare, isBefore, isBehind };
    },
    (rank, position) => sink.store([rank], e.cast(computeScalar(sink.dtype), position)),
  );
}

/** The order of two elements, after `prepare`: equal ones are neither before nor behind one another. */
interface Comparison {
  readonly prepare: readonly Stmt[];
  readonly isBefore: Expr;
  readonly isBehind: Expr;
}

/** Stores the position of every element at its rank, if that is less than `count`. */
function ranked(
  length: Expr,
  count: Expr,
  compare: (other: Expr, own: Expr) => Comparison,
  store: (rank: Expr, position: Expr) => Stmt,
): Stmt {
  const rank = e.variable('rank', 'i32');
  return e.forLoop('own', 0, length, (own) =>
    e.block(
      e.declare(rank, e.i32(0)),
      e.forLoop('other', 0, length, (other) => {
        const { prepare, isBefore, isBehind } = compare(other, own);
        const isAhead = e.or(isBefore, e.and(e.not(isBehind), e.lt(other, own)));
        return e.block(...prepare, e.ifThen(isAhead, e.assign(rank, e.add(rank, 1))));
      }),
      e.ifThen(e.lt(rank, count), store(rank, own)),
    ),
  );
}
