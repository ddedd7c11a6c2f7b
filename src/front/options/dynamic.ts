import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import type { TreeStructure } from '../../base/attributes/tree.js';
import type { NDArray } from '../core/ndarray.js';
import type { CallSignature } from '../graphs/signature.js';
import type { AxisNames } from '../sizes/size-history.js';

/**
 * The axes that stay symbolic. The same name means the same size.
 *
 * Either one entry for each array among the arguments, in order: `[['batch', null], null]` says that the
 * first axis of the first array may have any size, and nothing about the second. Or, with an object or a list
 * of lists in it, the nesting of the arguments: `[{ image: ['batch'], label: ['batch'] }, null]`.
 */
export type DynamicAxes = readonly ArgumentAxes[];

/**
 * For an array a list with a name or null for each axis (trailing nulls may be omitted), for a list or an
 * object the same nesting; null for no symbolic axes.
 */
export type ArgumentAxes =
  | null
  | readonly (string | null)[]
  | readonly ArgumentAxes[]
  | { readonly [key: string]: ArgumentAxes };

/** All names that a user declared. */
export function namesIn(dynamic: unknown, names: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof dynamic === 'string') names.add(dynamic);
  else if (typeof dynamic === 'object' && dynamic !== null) {
    for (const part of Object.values(dynamic)) namesIn(part, names);
  }
  return names;
}

/**
 * The declared names, axis by axis.
 * @throws ArgumentError for names without an axis.
 */
export function namedAxes({ leaves, structure }: CallSignature, dynamic: DynamicAxes): AxisNames {
  return dynamic.every((axes) => axes === null || isNames(axes))
    ? namedInOrder(leaves, dynamic)
    : namedByNesting(leaves, structure, dynamic);
}

function namedInOrder(
  leaves: readonly NDArray[],
  dynamic: readonly (readonly (string | null)[] | null)[],
): AxisNames {
  if (dynamic.length > leaves.length) {
    throw new ArgumentError('dynamic has more entries than there are arrays', {
      op: 'hybridize',
      expected: `at most ${leaves.length}`,
      actual: String(dynamic.length),
    });
  }
  return leaves.flatMap((leaf, i) => namesOf(leaf, dynamic[i] ?? [], `array ${i}`));
}

function namesOf(
  { ndim }: NDArray,
  given: readonly (string | null)[],
  path: string,
): (string | null)[] {
  if (given.length > ndim) {
    throw new ArgumentError(`${path} has fewer axes than names`, {
      op: 'hybridize',
      expected: `at most ${ndim} names`,
      actual: String(given.length),
    });
  }
  return Array.from({ length: ndim }, (_, axis) => given[axis] ?? null);
}

function namedByNesting(
  leaves: readonly NDArray[],
  structure: TreeStructure,
  dynamic: DynamicAxes,
): AxisNames {
  const names: (string | null)[] = [];
  let next = 0;
  const visit = (part: TreeStructure, axes: unknown, path: string): void => {
    if (part.kind === 'leaf') {
      const leaf = leaves[next++];
      const given = axes ?? [];
      if (!isNames(given)) {
        throw mismatch(path, 'a list with a name or null for each axis, or null', axes);
      }
      names.push(...namesOf(leaf, given, path));
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
        const own = Object.getOwnPropertyDescriptor(given, key);
        visit(entry, own?.value, `${path}.${key}`);
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
    advice: 'nest it as the arguments are, or give one list of names for each array, in order',
  });
}
