import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { environmentVariable, nodeModules } from '../../base/node.js';

/** Number of threads, from 1, or `auto` for the number of cores. */
export type ThreadCount = number | 'auto';

/** Limit: more would make shares small and barriers slow. */
export const mostThreads = 64;

export function isThreadCount(value: unknown): value is ThreadCount {
  if (value === 'auto') return true;
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostThreads;
}

/**
 * The requested number of threads.
 * @throws ArgumentError for anything else.
 */
export function threadCount(value: unknown, op: string): number {
  if (isThreadCount(value)) return value === 'auto' ? Math.min(cores(), mostThreads) : value;
  throw new ArgumentError('this is not a number of threads', {
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
 * Settings of `KAON_GRAIN`, for tests: the instructions that are worth a thread. With it, runs also wait for
 * all of their workers, so that everything divisible is divided.
 */
export function grainSettings(): { readonly grain?: number; readonly patience?: number } {
  const text = environmentVariable('KAON_GRAIN') ?? '';
  if (text === '') return {};
  const grain = Number(text);
  if (Number.isInteger(grain) && grain > 0) return { grain, patience: 10_000 };
  throw new ArgumentError('this is not a number of instructions', {
    op: 'KAON_GRAIN',
    expected: 'a whole number from 1',
    actual: text,
  });
}

function cores(): number {
  const { navigator } = globalThis as { readonly navigator?: { hardwareConcurrency?: number } };
  return nodeModules()?.system.availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
}

/** Reason why memory cannot be shared between threads; null when it can. */
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
