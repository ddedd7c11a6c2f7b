/** Limits of programs that are read from files, so that a small file cannot take much memory or time. */

/** Nesting of regions. */
export const mostLevels = 64;

/**
 * Nodes that a file may make beyond those that are written in it: of a region or a function that is used several
 * times, once for each use.
 */
export const mostRepeatedNodes = 100_000;
