import { isSymbolic } from '../dispatch/dynamic-sizes.js';

/** The counter of a loop, which runs while that is before a limit that the loop does not change. */
export interface Counting {
  /** The counter and the limit, as they are now. */
  readonly now: () => readonly [counter: unknown, limit: unknown];
  readonly step: number;
  readonly isInclusive: boolean;
  /** True where nothing else ends the loop but jumps. */
  readonly isWhole: boolean;
  /** True where nothing but the loop reads the counter. */
  readonly isOwn: boolean;
}

/** Upper bound of the number of iterations from now on; null where the counter or the limit is an array or a symbol. */
export function iterationsLeft(counting: Counting | undefined): number | null {
  if (counting === undefined) return null;
  const { now, step, isInclusive } = counting;
  const [counter, limit] = now();
  if (typeof counter !== 'number' || typeof limit !== 'number') return null;
  if (isSymbolic(counter) || isSymbolic(limit)) return null;
  // The counter is exact, whatever its dtype.
  const isExact = Number.isInteger(counter) && Math.abs(counter) + Math.abs(limit) < 2 ** 24;
  const steps = (limit - counter) / step;
  const count = isInclusive ? Math.floor(steps) + 1 : Math.ceil(steps);
  return isExact ? Math.max(0, count) : null;
}
