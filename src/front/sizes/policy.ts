/*
 * Code for one size is faster, since sizes choose loops, and code for all sizes is made once. So the first sizes
 * get code of their own, which is all that most programs need; code that meets more sizes is generalized; and a
 * size that is used again and again gets code of its own once more.
 */

/** Limits of code that is made for one size. */
export interface SizePolicy {
  /** Number of sizes that get code of their own before code for all sizes is made. */
  readonly specializations: number;
  /** Number of calls of one size by code for all sizes before the size gets code of its own, if that is faster. */
  readonly hotCalls: number;
  /** Limit of compiled variants that are kept, for one size or for all. */
  readonly variants: number;
}

/**
 * An operator in eager code. Compiling takes a few milliseconds, and code for all sizes may run up to twice as
 * long.
 */
export const eagerPolicy: SizePolicy = { specializations: 3, hotCalls: 100, variants: 512 };

/**
 * A captured function. A trace with its compilation takes up to seconds, so that generalization comes earlier;
 * its traces stay as they are, since users count them.
 */
export const capturedPolicy: SizePolicy = { specializations: 2, hotCalls: Infinity, variants: 64 };

/** History of calls that differ in sizes only. */
export interface SizesSeen {
  /** Number of sizes that have got code of their own. */
  specialized: number;
  /** True when the code has refused symbols in the place of numbers. */
  needsNumbers: boolean;
}

/** True when the next size that has no code should get code for all sizes. */
export function shouldGeneralize(
  { specializations }: SizePolicy,
  { specialized, needsNumbers }: Readonly<SizesSeen>,
): boolean {
  return !needsNumbers && specialized >= specializations;
}
