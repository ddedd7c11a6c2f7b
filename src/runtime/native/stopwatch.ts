/** Measurements are about so far apart, in milliseconds: what they cost does not show then. */
const between = 0.1;
const mostSkipped = 1000;

/**
 * How long many runs have taken in all, from a few that are timed. Tells how many runs it is until the
 * next one has to be.
 */
export class Stopwatch {
  /** Milliseconds so far. */
  total = 0;
  /** Runs so far. */
  runs = 0;
  /** Of one run, lately. */
  latest: number = Infinity;

  /**
   * Counts a run that took `milliseconds`, and the `skipped` ones before it.
   * @returns how many may now run without being timed.
   */
  add(milliseconds: number, skipped: number): number {
    // One that was interrupted must not speak for all that were not timed.
    const typical = Math.min(milliseconds, this.latest);
    this.total += milliseconds + (skipped > 0 ? skipped * typical : 0);
    this.runs += skipped + 1;
    this.latest = milliseconds;
    return Math.min(mostSkipped, Math.floor(between / Math.max(milliseconds, 1e-6)));
  }
}
