import { TraceError } from '../../base/errors.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { useGraph, undecidable } from './host.js';
import { endsPath, noteThrown } from './throws.js';

/* The path that is traced now: what may be done on it, and how it ends where a statement throws. */

/** The number of branches and loops that arrays decide around the code that runs now. */
let depth = 0;

/** Stands for the innermost path or iteration that is traced now. */
let path: object = {};

/** Lists, maps and sets by the path they were made on, which may fill them. */
const makers = new WeakMap<object, object>();

/** Notes where a list, map or set was made. */
export function made(value: object): object {
  if (depth > 0) makers.set(value, path);
  return value;
}

/** Deeper ones are a recursion that only an array would end. */
const deepest = 200;

/** The capture of the innermost path or iteration. */
let pathCapture: Capture | null = null;

/**
 * Runs code that an array decides about. @param dead The result where a statement of the code throws: the program
 * throws that where it comes there.
 */
export function decided<R>(run: () => R, dead: () => R): R {
  if (depth >= deepest) {
    throw new TraceError('branches that arrays decide are nested without end', {
      op: useGraph,
      expected: `at most ${deepest}, one in the other`,
      actual: 'a function that calls itself until an array says no',
      advice: 'write a loop',
    });
  }
  const around = { path, pathCapture };
  depth++;
  path = {};
  pathCapture = mode.capture;
  try {
    return run();
  } catch (error) {
    if (!endsPath(error)) throw error;
    return dead();
  } finally {
    depth--;
    ({ path, pathCapture } = around);
  }
}

/** True on a path that an array decides; a function that is captured for itself starts anew. */
export function isDecided(): boolean {
  return depth > 0 && outermost(mode.capture) === outermost(pathCapture);
}

function outermost(capture: Capture | null): Capture | null {
  let found = capture;
  while (found !== null && found.parent !== null) found = found.parent;
  return found;
}

/** Refuses what an array decides about. */
export function undecided(construct: string, site: string): void {
  if (isDecided()) throw undecidable(construct, site);
}

/** The value that a statement throws. */
export function thrown(value: unknown, site: string): unknown {
  if (mode.capture?.isBody === true && mode.capture !== pathCapture) {
    throw undecidable('throw inside of the function of an operator', site);
  }
  return noteThrown(value, site);
}

/** An object whose members are about to change, and which no variable holds. */
export function target(object: unknown, site: string): unknown {
  undecided('a change of an object', site);
  return object;
}

/** The receiver of a method that changes lists, maps and sets. */
export function collection(object: unknown, site: string): unknown {
  const isCollection =
    Array.isArray(object) ||
    object instanceof Map ||
    object instanceof Set ||
    ArrayBuffer.isView(object);
  if (isCollection && makers.get(object) !== path)
    undecided('a change of a list, map or set', site);
  return object;
}
