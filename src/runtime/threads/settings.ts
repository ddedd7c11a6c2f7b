import { describe } from '../../base/attribute.js';
import { ArgumentError } from '../../base/errors.js';

/** How many threads: a number from 1, or `auto` for as many as the machine has cores. */
export type ThreadCount = number | 'auto';

/** More would make shares small and barriers slow. */
export const mostThreads = 64;

/**
 * What was asked for, as a number.
 * @throws ArgumentError for anything else.
 */
export function threadCount(value: unknown, op: string): number {
  if (value === 'auto') return Math.min(cores(), mostThreads);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostThreads)
    return value;
  throw new ArgumentError('this is no number of threads', {
    op,
    expected: `a whole number from 1 to ${mostThreads}, or 'auto' for one a core`,
    actual: describe(value),
  });
}

/** `KAON_THREADS`; one thread without it. */
export function threadsOfEnvironment(): number {
  const text = environment().KAON_THREADS?.trim() ?? '';
  if (text === '') return 1;
  return threadCount(/^\d+$/.test(text) ? Number(text) : text, 'KAON_THREADS');
}

interface Host {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly versions?: { readonly node?: string };
  };
  readonly navigator?: { readonly hardwareConcurrency?: number };
  readonly Worker?: unknown;
  readonly SharedArrayBuffer?: unknown;
}

const host = globalThis as Host;

function environment(): Readonly<Record<string, string | undefined>> {
  return host.process?.env ?? {};
}

function cores(): number {
  const os = builtin<{ availableParallelism?(): number; cpus(): readonly unknown[] }>('node:os');
  return os?.availableParallelism?.() ?? os?.cpus().length ?? host.navigator?.hardwareConcurrency ?? 1; // prettier-ignore
}

/** A module of Node, without an import that browsers would stumble over; undefined elsewhere. */
export function builtin<T>(name: string): T | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  return process?.getBuiltinModule?.(name) as T | undefined;
}

/** Why memory cannot be shared between threads here; null where it can. */
export function whyUnshared(): string | null {
  const { SharedArrayBuffer, Worker } = globalThis as Host;
  if (typeof SharedArrayBuffer !== 'function') {
    return 'there is no SharedArrayBuffer here: a page needs cross-origin isolation for it';
  }
  if (builtin('node:worker_threads') !== undefined || typeof Worker === 'function') return null;
  return 'there are no workers here';
}
