import { proceed } from './branch.js';
import {
  breakOf,
  codesOf,
  type Completion,
  completionOf,
  continueOf,
  end,
  type Next,
  normal,
} from './completion.js';

/** Goes on after a loop: normal ends do, jumps that lead further out stay. */
export function after(completion: Completion, next: Next, site: string): Completion {
  if (completion === undefined) return end(next);
  if (completion.kind !== 'mixed') return completion;
  return proceed(completion, (code) => code === normal, () => end(next), next?.changes ?? [], site); // prettier-ignore
}

/** The end of a loop by such an end of an iteration: its own `break` and `continue` are normal ends. */
export function withoutBreak(completion: Completion, number: number): Completion {
  const own = [breakOf(number), continueOf(number)];
  const codes = codesOf(completion);
  if (!own.some((code) => codes.has(code))) return completion;
  const rest = new Set([...codes].map((code) => (own.includes(code) ? normal : code)));
  if (completion?.kind !== 'mixed') return undefined;
  const isOwn = own
    .filter((code) => codes.has(code))
    .map((code) => completion.code.equal(code))
    .reduce((a, b) => a.logicalOr(b));
  const code = completion.code.mul(isOwn.logicalNot().astype('int32'));
  return completionOf(rest, code, completion.returned);
}

/** All codes but one. */
export function without(codes: ReadonlySet<number>, code: number): ReadonlySet<number> {
  return new Set([...codes].filter((other) => other !== code));
}
