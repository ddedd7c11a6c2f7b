/** Limits of programs that are read from files, so that a small file cannot take much memory or time. */

/** Deepest nesting of regions. */
export const mostLevels = 64;

/**
 * Most nodes that a file may expand to beyond those written in it: a region or function that is used several
 * times counts once for each further use.
 */
export const mostRepeatedNodes = 100_000;
