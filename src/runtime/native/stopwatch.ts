/** Milliseconds between measurements, so that their cost is negligible. */
const between = 0.1;
const mostSkipped = 1000;

/**
 * Estimates the total time of many runs from a few timed ones. Returns the number of runs until the next
 * measurement.
 */
export class Stopwatch {
  /** Milliseconds so far. */
  total = 0;
  /** Runs so far. */
  runs = 0;
  /** Milliseconds of a recent run. */
  latest: number = Infinity;

  /**
   * Counts a run that took `milliseconds`, and the `skipped` ones before it.
   * @returns Number of runs that need not be timed.
   */
  add(milliseconds: number, skipped: number): number {
    // An interrupted run must not represent all that were not timed.
    const typical = Math.min(milliseconds, this.latest);
    this.total += milliseconds + (skipped > 0 ? skipped * typical : 0);
    this.runs += skipped + 1;
    this.latest = milliseconds;
    return Math.min(mostSkipped, Math.floor(between / Math.max(milliseconds, 1e-6)));
  }
}
