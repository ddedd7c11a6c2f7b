import { graphDirective } from '../../../base/directive.js';
import { TraceError } from '../../../base/errors.js';
import { check } from '../../../ops/control/index.js';
import { installThrownValues } from '../../../ops/control/check.js';
import { array } from '../../arrays/creation.js';
import { installThrowingBranches, isInBranch } from '../../control/captured-cond.js';
import { withMode } from '../../core/mode.js';
import { isGuarded, placeOf, undecidable } from './host.js';

/*
 * A `throw` on a path that a captured array decides is a check in the program, and the rest of the path is dead:
 * the statement throws as always, and whoever traces the path catches that and writes the check.
 */

/** The value of the statement that has thrown last, and its place; null where an operator has thrown it. */
let last: { readonly value: unknown; readonly site: string | null } | null = null;

/** Thrown values by class and message, as their statements were traced last. */
const values = new Map<string, unknown>();

/** Causes that checks gave to errors of the user's: each failure has its own. */
const ownCauses = new WeakSet<object>();

installThrownValues((name, message, error) => {
  const key = keyOf(name, message);
  if (!values.has(key)) return null;
  const value = values.get(key);
  if (value instanceof Error && Object.isExtensible(value)) {
    const isFree = value.cause === undefined || ownCauses.has(value.cause as object);
    if (isFree) {
      ownCauses.add(error);
      Object.defineProperty(value, 'cause', { value: error, configurable: true, writable: true });
    }
  }
  return { value };
});

function keyOf(name: string, message: string): string {
  return JSON.stringify([name, message]);
}

/** Notes that a statement throws a value, or an operator. */
export function noteThrown(value: unknown, site: string | null): unknown {
  last = { value, site };
  return value;
}

/** Ends a path on which all further paths have thrown. */
const deadPath: unique symbol = Symbol('dead path');

/**
 * Writes the check for what a statement of the path has thrown; false for other errors.
 * @throws TraceError inside of `try`, which would have to catch what only the program throws.
 */
export function endsPath(error: unknown): boolean {
  if (error === deadPath) return true;
  if (last === null || !Object.is(last.value, error)) return false;
  const { value, site } = last;
  last = null;
  if (isGuarded()) {
    if (site === null) return false;
    throw undecidable('throw inside of try', site);
  }
  const isError = value instanceof Error;
  const name = (isError ? value.constructor.name : typeof value) || 'Error';
  const message = isError ? value.message : String(value);
  values.set(keyOf(name, message), value);
  withMode(site === null ? {} : placeOf(site), check.declaration.name, () =>
    check(array(false, { dtype: 'bool' }), message, name),
  );
  return true;
}

/** Ends the path around two paths that throw; nothing would be left of the captured function. */
export function nothingLeft(isDecided: boolean, site?: string): unknown {
  if (isDecided || isInBranch()) return deadPath;
  return new TraceError('every path throws', {
    op: graphDirective,
    expected: 'a path that ends, of those that captured arrays decide',
    actual: 'a statement that throws on each',
    advice: 'throw before the captured code, or return a value on one path',
    ...(site === undefined ? {} : placeOf(site)),
  });
}

installThrowingBranches({ ends: endsPath, nothingLeft: () => nothingLeft(false) });
