import * as e from './build.js';
import type { Expr } from './nodes.js';

/** The threads that run one kernel together. */
export interface Team {
  /** The number of this thread, from 0. */
  readonly index: Expr;
  readonly count: Expr;
}

/** One thread. */
export const alone: Team = { index: e.i32(0), count: e.i32(1) };

/**
 * The part of `begin <= i < end` that falls to this thread: whole steps, one stretch for each thread,
 * every index in one of them. Where the parts are cut changes with the number of threads, so nothing that
 * is computed may depend on it.
 */
export function shareOf(
  { index, count }: Team,
  begin: Expr,
  end: Expr,
  step: number,
): { readonly begin: Expr; readonly end: Expr } {
  if (count.kind === 'const' && count.value === 1) return { begin, end };
  const steps = e.div(e.add(e.sub(end, begin), step - 1), step);
  const cut = (thread: Expr): Expr => e.add(begin, e.mul(e.div(e.mul(steps, thread), count), step));
  return { begin: cut(index), end: e.min(cut(e.add(index, 1)), end) };
}
