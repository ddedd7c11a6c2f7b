import { graphDirective } from '../../base/directive.js';
import { TraceError } from '../../base/errors.js';
import type { NDArray } from '../core/ndarray.js';
import type { Variables } from './values/variables.js';

/** The end of a closure over statements: normal (undefined), a jump out of it, or as an array decides. */
export type Completion = undefined | Return | Leave | Mixed | Dead;

/** The end of a path that throws: nothing follows. */
interface Dead {
  readonly kind: 'dead';
}

interface Return {
  readonly kind: 'return';
  readonly value: unknown;
}

/** A jump out of an iteration of the loop of a number. */
interface Leave {
  readonly kind: 'break' | 'continue';
  readonly loop: number;
}

/** One of several ends, which an array decides. */
export interface Mixed {
  readonly kind: 'mixed';
  /** The code of the end: one int32. */
  readonly code: NDArray;
  /** The codes it may be. */
  readonly codes: ReadonlySet<number>;
  /** The value that is returned where the code says so; null where no end returns. */
  readonly returned: { readonly value: unknown } | null;
}

/** Codes of ends: 0 is normal, 1 returns, and loops have an even and an odd one each. */
export const normal = 0;
const returning = 1;
export const breakOf = (loop: number): number => 2 + 2 * loop;
export const continueOf = (loop: number): number => 3 + 2 * loop;

export function codesOf(completion: Completion): ReadonlySet<number> {
  if (completion === undefined) return new Set([normal]);
  switch (completion.kind) {
    case 'mixed':
      return completion.codes;
    case 'return':
      return new Set([returning]);
    case 'dead':
      return new Set();
    case 'break':
      return new Set([breakOf(completion.loop)]);
    case 'continue':
      return new Set([continueOf(completion.loop)]);
  }
}

/** The value that a completion returns, if it may return. */
export function returnedBy(completion: Completion): { readonly value: unknown } | null {
  if (completion?.kind === 'return') return { value: completion.value };
  return completion?.kind === 'mixed' ? completion.returned : null;
}

/** The completion of a code, or of an array that is one of several. */
export function completionOf(
  codes: ReadonlySet<number>,
  code: NDArray,
  returned: { readonly value: unknown } | null,
): Completion {
  if (codes.size > 1) return { kind: 'mixed', code, codes, returned };
  if (codes.size === 0) return { kind: 'dead' };
  const [only] = codes;
  if (only === normal) return undefined;
  if (only === returning) return { kind: 'return', value: returned?.value };
  const loop = (only - 2) >> 1;
  return { kind: only % 2 === 0 ? 'break' : 'continue', loop };
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

export function ret(value?: unknown): Completion {
  return { kind: 'return', value };
}

export function brk(loop: number): Completion {
  return { kind: 'break', loop };
}

export function cont(loop: number): Completion {
  return { kind: 'continue', loop };
}

/** The code after a statement, up to the end of the iteration or of the function. */
export interface PathContinuation {
  readonly run: () => Completion;
  /** Variables that it and those after it change; those of the last come first. */
  readonly changes: readonly Variables[];
}

export type Next = PathContinuation | undefined;

export function follow(
  variables: Variables | undefined,
  body: (next: Next) => Completion,
  next: Next,
): PathContinuation {
  return {
    run: () => body(next),
    changes: [...(next?.changes ?? []), ...(variables === undefined ? [] : [variables])],
  };
}

/** The normal end of a list of statements. */
export function end(next: Next): Completion {
  return next?.run();
}

/** The result of a function whose body ended so. */
export function finish(completion: Completion): unknown {
  if (completion?.kind !== 'mixed')
    return completion?.kind === 'return' ? completion.value : undefined;
  if (completion.returned?.value === undefined) return undefined;
  throw new TraceError('one path returns a value and another one returns none', {
    op: graphDirective,
    expected: 'a value on every path that an array decides, or on none',
    actual: 'a path that ends without return',
    advice: 'return a value there too',
  });
}
