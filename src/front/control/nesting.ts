import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import {
  flattenTree,
  sameStructure,
  type TreeStructure,
  structureToString,
} from '../../base/attributes/tree.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from '../graphs/signature.js';

/*
 * Data, states and results of control flow are any nesting of arrays, lists and plain objects. Here they
 * are taken apart, and their arrays get names for errors: `state 1`, `state.h`, `output.layers[0]`.
 */

/** A nested value as its arrays and structure. */
export interface Nested {
  /** Its name in messages: `state`, `output`. */
  readonly what: string;
  readonly leaves: readonly NDArray[];
  readonly structure: TreeStructure;
}

type Path = readonly (string | number)[];

/**
 * Flattens a nested value.
 * @throws ArgumentError, naming the place, for anything in it that is not an array.
 */
export function takeApart(op: string, what: string, value: unknown): Nested {
  const { leaves, structure } = flattenTree(value, isArray, op);
  const stray = findStatic(structure, []);
  if (stray === null) return { what, leaves, structure };
  throw new ArgumentError(`${nameAt(what, stray.path)} is not an array`, {
    op,
    expected: 'arrays, in lists and plain objects',
    actual: describe(stray.value),
    advice: advised.has(typeof stray.value) ? 'make one with kn.array' : 'return nothing as []',
  });
}

const advised: ReadonlySet<string> = new Set(['number', 'boolean', 'bigint']);

function findStatic(
  part: TreeStructure,
  path: Path,
): { readonly path: Path; readonly value: unknown } | null {
  if (part.kind === 'leaf') return null;
  if (part.kind === 'static') return { path, value: part.value };
  for (const [i, entry] of part.entries.entries()) {
    const found = findStatic(entry, [...path, keyAt(part, i)]);
    if (found !== null) return found;
  }
  return null;
}

/** The names of the arrays of a nested value, in order. */
export function namesOf({ what, structure }: Nested): readonly string[] {
  const names: string[] = [];
  const visit = (part: TreeStructure, path: Path): void => {
    if (part.kind === 'leaf') names.push(nameAt(what, path));
    else if ('entries' in part) {
      part.entries.forEach((entry, i) => visit(entry, [...path, keyAt(part, i)]));
    }
  };
  visit(structure, []);
  return names;
}

/**
 * The arrays of a value in the order of another with the same nesting; the keys of objects may come in any
 * order.
 * @throws ArgumentError, naming the innermost place that differs. `differs` describes the difference.
 */
export function arrangedLike(
  op: string,
  expected: Nested,
  actual: Nested,
  differs: string,
): readonly NDArray[] {
  if (sameStructure(expected.structure, actual.structure)) return actual.leaves;
  let next = 0;
  // In the actual order, so that leaves are consumed in sequence.
  const visit = (a: TreeStructure, b: TreeStructure, path: Path): NDArray[] => {
    if (a.kind === 'leaf' && b.kind === 'leaf') return [actual.leaves[next++]];
    const isAlike =
      'entries' in a &&
      'entries' in b &&
      a.kind === b.kind &&
      a.entries.length === b.entries.length &&
      (b.kind === 'list' || b.keys.every((key) => (a as typeof b).keys.includes(key)));
    if (!isAlike) {
      throw new ArgumentError(`${nameAt(expected.what, path)} ${differs}`, {
        op,
        expected: structureToString(a),
        actual: structureToString(b),
        advice: 'return the same nesting of lists and objects',
      });
    }
    const parts: NDArray[][] = [];
    b.entries.forEach((entry, i) => {
      const key = keyAt(b, i);
      const at = a.kind === 'record' ? a.keys.indexOf(key as string) : i;
      parts[at] = visit(a.entries[at], entry, [...path, key]);
    });
    return parts.flat();
  };
  return visit(expected.structure, actual.structure, []);
}

function keyAt(part: TreeStructure, index: number): string | number {
  return part.kind === 'record' ? part.keys[index] : index;
}

function nameAt(what: string, path: Path): string {
  if (path.length === 0) return `the ${what}`;
  const [first, ...rest] = path;
  const isWord = typeof first === 'string' && !what.includes(' ');
  const tail = rest.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return `${what}${isWord ? '.' : ' '}${first}${tail}`;
}
