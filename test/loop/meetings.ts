import * as e from '../../src/loop/language/build.js';
import { type Expr, type Module, type Stmt } from '../../src/loop/language/nodes.js';
import { meeting } from '../../src/loop/language/team.js';

/** How often threads meet. */
export const rounds = 200;

/** Where things lie in the memory of `meetings`, in words. */
export const cells: Readonly<Record<'meeting' | 'written' | 'wrong', number>> = {
  meeting: 0,
  written: meeting.words,
  wrong: meeting.words + 16,
};

/**
 * Each thread writes the number of the round into its cell, meets the others, and counts the cells that do
 * not hold that number; they meet again before the next round. Parameters: the memory (as the meeting, as
 * the cells of all and as the counts of wrong ones), this thread, and how many there are.
 */
export function meetings(): Module {
  const [team, written, wrong] = ['team', 'written', 'wrong'].map((name) => e.buffer(name, 'i32'));
  const [thread, threads] = ['thread', 'threads'].map((name) => e.variable(name, 'i32'));
  const count = (unequal: Expr): Stmt =>
    e.ifThen(unequal, e.store(wrong, thread, e.add(e.load(wrong, thread), 1)));
  const body = e.forLoop('round', 1, rounds + 1, (round) =>
    e.block(
      e.store(written, thread, round),
      e.barrier(team, thread, threads),
      e.forLoop('other', 0, threads, (other) => count(e.ne(e.load(written, other), round))),
      e.barrier(team, thread, threads),
    ),
  );
  return e.moduleOf([e.kernel('meet', [team, written, wrong, thread, threads], body)]);
}
