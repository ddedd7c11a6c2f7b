import type { Program } from '../../ir/program.js';

/** A cache of values derived from programs, for as long as the programs live. */
export type Memo<A> = WeakMap<Program, Map<string, A>>;

/** The cached value for a program and a key of plain data; computed the first time. */
export function memoized<A>(
  memo: Memo<A>,
  program: Program,
  question: readonly unknown[],
  derive: () => A,
): A {
  let answers = memo.get(program);
  if (answers === undefined) memo.set(program, (answers = new Map()));
  const key = JSON.stringify(question);
  const known = answers.get(key);
  if (known !== undefined || answers.has(key)) return known!;
  const answer = derive();
  answers.set(key, answer);
  return answer;
}
