import assert from 'node:assert/strict';
import type { TierReport } from '../../src/runtime/execution/executable.js';

/** What parts say that no run has come to: those of a branch that was not taken. */
const isUntouched = ({ reason }: TierReport): boolean =>
  reason?.startsWith('it has run for 0 ms of ') ?? false;

/**
 * Asserts that everything that has run is native. Where code could not be made, or was not trusted, programs
 * go on as before, and a test of native code would go on without any.
 */
export function assertReached(reports: readonly TierReport[]): void {
  const others = reports.filter((report) => report.tier !== 'native' && !isUntouched(report));
  assert.deepEqual(others, []);
}
