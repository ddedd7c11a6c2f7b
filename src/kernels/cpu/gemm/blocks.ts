import * as e from '../../../loop/language/build.js';
import { shortTerms } from '../../contraction/long-sums.js';
import { fastTwoSum } from '../../../loop/language/compensation.js';
import { chooseBy } from '../../../loop/language/choices.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import { blockEnd, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';

/*
 * Sums over a long inner index are added up in blocks (decision 46): a register sums the terms of one block, and the
 * sums of blocks are added in memory, each with a carry of what rounding has dropped, which is added to the next
 * block. So the error does not grow with the number of blocks: to first order it is at most `blockTerms + 3` roundings
 * of the sum of magnitudes, and `blockTerms / 4 + 3` where all terms are equal.
 */

/** Number of terms in one block. */
export const blockTerms = 56;

/**
 * A range along `k` in blocks of `length`, or as one where all of `k` turns out to be short; at least one block, since
 * empty sums are stored too.
 */
export function overDepthBlocks(
  k: Expr,
  { begin, end }: LoopRange,
  length: number,
  body: (from: Expr, to: Expr) => Stmt,
): Stmt {
  const isOne = e.le(k, shortTerms);
  const next = e.add(begin, 1);
  const isKnown = chooseBy([k], (terms) => terms !== null);
  const last = isKnown ? end : e.select(isOne, next, e.max(end, next));
  return e.forLoop(
    'block',
    begin,
    last,
    (from) => {
      const to = blockEnd(from, length, end);
      return body(from, isKnown ? to : e.select(isOne, end, to));
    },
    { step: length },
  );
}

/** Memory of compensated sums over blocks. */
export interface BlockSums {
  readonly buffer: Buffer;
  /** Offset from a sum to its compensation. */
  readonly carry: Expr;
}

/** Allocates memory for so many sums. */
export function blockSums(
  { context, scalar }: Pick<Contraction, 'context' | 'scalar'>,
  size: Expr,
): BlockSums {
  const buffer = context.scratch('blockSums', scalarDTypes[scalar], product(size, 2));
  return { buffer, carry: size };
}

/** Stores the sum of the first block. */
export function putBlock({ buffer, carry }: BlockSums, place: Expr, sum: Expr): Stmt {
  const zero = e.constant(sum.type.scalar, 0, sum.type.lanes);
  return e.block(e.store(buffer, place, sum), e.store(buffer, behind(place, carry), zero));
}

/** Adds the sum of another block. */
export function addBlock({ buffer, carry }: BlockSums, place: Expr, sum: Expr): Stmt {
  const carryPlace = behind(place, carry);
  const next = carriedSum(sum, e.load(buffer, place), e.load(buffer, carryPlace));
  return e.block(
    ...next.compute,
    e.store(buffer, carryPlace, next.carry),
    e.store(buffer, place, next.total),
  );
}

/** Adds the sums of all previous blocks to that of the last. */
export function addToLast({ buffer, carry }: BlockSums, place: Expr, sum: Var): Stmt {
  const carried = e.load(buffer, behind(place, carry));
  return e.assign(sum, e.add(e.load(buffer, place), e.add(sum, carried)));
}

/** A running sum and its compensation, after `compute`. */
export interface CarriedSum {
  readonly compute: readonly Stmt[];
  readonly total: Var;
  readonly carry: Expr;
}

/**
 * A running sum with one more term and the previous compensation. Where the term is greater than the sum, the
 * computed error may be off by another rounding of the term, which the error bound includes: so no comparison
 * is needed.
 */
export function carriedSum(term: Expr, running: Expr, carry: Expr): CarriedSum {
  const { scalar, lanes } = term.type;
  const [before, arriving, total] = ['before', 'arriving', 'total'].map((name) =>
    e.variable(name, scalar, lanes),
  );
  const { sum, error } = fastTwoSum(before, arriving);
  return {
    compute: [
      e.declare(before, running),
      e.declare(arriving, e.add(term, carry)),
      e.declare(total, sum),
    ],
    total,
    carry: error,
  };
}

function behind(place: Expr, distance: Expr): Expr {
  return e.add(place, e.broadcast(distance, place.type.lanes));
}

/** The sum of a few terms. */
export function pairwise(terms: readonly Expr[]): Expr {
  if (terms.length === 1) return terms[0];
  const half = terms.length >> 1;
  return e.add(pairwise(terms.slice(0, half)), pairwise(terms.slice(half)));
}
