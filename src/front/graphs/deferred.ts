import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { callable, checkArgument } from '../../base/attributes/options.js';
import { Capture } from '../core/capture.js';
import { computeLazy } from '../dispatch/lazy.js';
import { readResult } from '../dispatch/absent-values.js';
import { mode, withMode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/**
 * Runs `fn` with every operator call deferred: its arrays know their shape and dtype, and are computed when
 * they are read, or when an operator outside needs them. Nested calls join the outer one.
 */
export function deferredCompute<R>(fn: () => R): R {
  checkArgument('deferredCompute', 'fn', fn, callable);
  if (mode.capture !== null) return withMode({}, 'deferredCompute', fn);
  const run = (): R => readResult(fn());
  return withMode({ capture: new Capture('deferred') }, 'deferredCompute', run);
}

/** True for an array that is not computed yet. */
export function isDeferred(array: NDArray): boolean {
  if (!(array instanceof NDArray)) {
    throw new ArgumentError('only arrays can be deferred', {
      op: 'isDeferred',
      expected: 'an array',
      actual: describe(array),
    });
  }
  return array.elements === null;
}

/** Computes lazy arrays and their operands now, once. */
export function compute(...arrays: readonly (NDArray | readonly NDArray[])[]): void {
  const all = arrays.flat();
  for (const array of all) {
    if (array instanceof NDArray) continue;
    throw new ArgumentError('only arrays can be computed', {
      op: 'compute',
      expected: 'arrays, or lists of them',
      actual: describe(array),
    });
  }
  computeLazy(all);
}
