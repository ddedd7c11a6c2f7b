import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { environmentVariable, nodeModules } from '../../base/node.js';

/** How many threads: a number from 1, or `auto` for as many as the machine has cores. */
export type ThreadCount = number | 'auto';

/** More would make shares small and barriers slow. */
export const mostThreads = 64;

export function isThreadCount(value: unknown): value is ThreadCount {
  if (value === 'auto') return true;
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostThreads;
}

/**
 * What was asked for, as a number.
 * @throws ArgumentError for anything else.
 */
export function threadCount(value: unknown, op: string): number {
  if (isThreadCount(value)) return value === 'auto' ? Math.min(cores(), mostThreads) : value;
  throw new ArgumentError('this is no number of threads', {
    op,
    expected: `a whole number from 1 to ${mostThreads}, or 'auto' for one a core`,
    actual: describe(value),
  });
}

/** `KAON_THREADS`; one thread without it. */
export function threadsOfEnvironment(): number {
  const text = environmentVariable('KAON_THREADS')?.trim() ?? '';
  if (text === '') return 1;
  return threadCount(/^\d+$/.test(text) ? Number(text) : text, 'KAON_THREADS');
}

/**
 * What `KAON_GRAIN` says, for tests: the instructions that are worth a thread of their own. With it, runs also
 * wait for all of their workers, so that everything that can be divided certainly is.
 */
export function grainSettings(): { readonly grain?: number; readonly patience?: number } {
  const text = environmentVariable('KAON_GRAIN') ?? '';
  if (text === '') return {};
  const grain = Number(text);
  if (Number.isInteger(grain) && grain > 0) return { grain, patience: 10_000 };
  throw new ArgumentError('this is no number of instructions', {
    op: 'KAON_GRAIN',
    expected: 'a whole number from 1',
    actual: text,
  });
}

function cores(): number {
  const { navigator } = globalThis as { readonly navigator?: { hardwareConcurrency?: number } };
  return nodeModules()?.system.availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
}

/** Why memory cannot be shared between threads here; null where it can. */
export function unsharedReason(): string | null {
  const { SharedArrayBuffer, Worker } = globalThis as {
    readonly SharedArrayBuffer?: unknown;
    readonly Worker?: unknown;
  };
  if (typeof SharedArrayBuffer !== 'function') {
    return 'there is no SharedArrayBuffer here: a page needs cross-origin isolation for it';
  }
  if (nodeModules() !== null || typeof Worker === 'function') return null;
  return 'there are no workers here';
}
