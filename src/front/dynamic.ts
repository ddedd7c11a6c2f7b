import { describe } from '../base/attribute.js';
import { ArgumentError } from '../base/errors.js';
import type { Structure } from '../base/tree.js';
import type { Signature } from './signature.js';
import type { AxisNames } from './sizes.js';

/**
 * The axes that stay symbolic, for each argument in order. One name in two places means one size.
 *
 * `[['batch', null], null]` says that the first axis of argument 0 may have any size, and nothing about
 * argument 1.
 */
export type DynamicAxes = readonly ArgumentAxes[];

/**
 * For an array a list with a name or null for each axis (trailing nulls may be left out), for a list or
 * an object the same nesting; null for what has no such axes.
 */
export type ArgumentAxes =
  | null
  | readonly (string | null)[]
  | readonly ArgumentAxes[]
  | { readonly [key: string]: ArgumentAxes };

/**
 * The names that a user gave, axis by axis.
 * @throws ArgumentError for names where there is no axis.
 */
export function namedAxes({ leaves, structure }: Signature, dynamic: DynamicAxes): AxisNames {
  const names: (string | null)[] = [];
  let next = 0;
  const visit = (part: Structure, axes: unknown, path: string): void => {
    if (part.kind === 'leaf') {
      const { ndim } = leaves[next++];
      const given = axes ?? [];
      if (!isNames(given)) {
        throw mismatch(path, 'a list with a name or null for each axis, or null', axes);
      }
      if (given.length > ndim) {
        throw new ArgumentError(`${path} has fewer axes than names`, {
          op: 'hybridize',
          expected: `at most ${ndim} names`,
          actual: String(given.length),
        });
      }
      for (let axis = 0; axis < ndim; axis++) names.push(given[axis] ?? null);
    } else if (part.kind === 'static') {
      if (axes !== undefined && axes !== null) throw mismatch(path, 'null: it is no array', axes);
    } else if (part.kind === 'list') {
      const given = axes ?? [];
      if (!Array.isArray(given) || given.length > part.entries.length) {
        throw mismatch(path, `a list of at most ${part.entries.length} entries, or null`, axes);
      }
      part.entries.forEach((entry, i) =>
        visit(entry, given[i], path === '' ? `argument ${i}` : `${path}[${i}]`),
      );
    } else {
      const given = axes ?? {};
      if (typeof given !== 'object' || Array.isArray(given)) {
        throw mismatch(path, `an object with keys of {${part.keys.join(', ')}}, or null`, axes);
      }
      const unknown = Object.keys(given).find((key) => !part.keys.includes(key));
      if (unknown !== undefined) {
        throw mismatch(path, `keys of {${part.keys.join(', ')}}`, unknown);
      }
      part.entries.forEach((entry, i) => {
        const key = part.keys[i];
        visit(entry, (given as Readonly<Record<string, unknown>>)[key], `${path}.${key}`);
      });
    }
  };
  visit(structure, dynamic, '');
  return names;
}

function isNames(value: unknown): value is readonly (string | null)[] {
  return (
    Array.isArray(value) &&
    value.every((name: unknown) => name === null || typeof name === 'string')
  );
}

function mismatch(path: string, expected: string, actual: unknown): ArgumentError {
  return new ArgumentError(`dynamic does not fit ${path === '' ? 'the call' : path}`, {
    op: 'hybridize',
    expected,
    actual: describe(actual),
    advice: 'give one entry for each argument of the function, in order',
  });
}
