import type { TraceError } from '../../base/errors.js';

/*
 * `try` of converted code. What cannot become a graph is no error of the user's code: its handlers must not
 * catch that.
 */

/** The number of blocks of `try` around what runs. */
let guards = 0;

/** The latest refusal inside of them. */
let refused: TraceError | null = null;

/** Enters the block of a `try`, or leaves it. */
export function guard(by: number): void {
  if (guards === 0) refused = null;
  guards += by;
}

/** True inside the block of a `try`. */
export function isGuarded(): boolean {
  return guards > 0;
}

/** Notes a refusal, which handlers pass on. */
export function refusedAnyway(error: TraceError): TraceError {
  refused = error;
  return error;
}

/** Starts a handler: it passes on what was refused. */
export function caught(): void {
  if (refused !== null) throw refused;
}
