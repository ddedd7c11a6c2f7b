import type { TreeStructure } from '../../base/attributes/tree.js';
import { inContext, KaonError } from '../../base/errors.js';
import { flattenTree, structureToString } from '../../base/attributes/tree.js';
import { NDArray } from '../core/ndarray.js';
import { mode } from '../core/mode.js';

/** The flattened arguments of a call, with everything that captured code may depend on. */
export interface CallSignature {
  readonly leaves: readonly NDArray[];
  readonly structure: TreeStructure;
  /** Everything but sizes: structure, static arguments, dtypes, ranks, attached gradients, mode. */
  readonly family: string;
  /** The family and the sizes; equal exactly for calls that one trace serves. */
  readonly key: string;
}

export function isArray(value: unknown): value is NDArray {
  return value instanceof NDArray;
}

/**
 * @throws ArgumentError, naming the place, for an argument that is neither an array nor a primitive nor a
 * function nor a list or plain object of these: its changes could not be detected.
 */
export function signatureOf(args: readonly unknown[]): CallSignature {
  const { leaves, structure } = takenApart(args);
  let family = structureToString(structure);
  let sizes = '';
  const seen = new Map<NDArray, number>();
  leaves.forEach((leaf, i) => {
    // One array passed twice differs from two arrays: an assignment to one changes both.
    const first = seen.get(leaf);
    if (first === undefined) seen.set(leaf, i);
    family += `;${leaf.dtype}/${leaf.ndim}${leaf.gradient === null ? '' : leaf.gradient.req}`;
    if (first !== undefined) family += `=${first}`;
    sizes += `;${leaf.shape.join()}`;
  });
  family += mode.session === null ? '' : ';recording';
  family += mode.training ? ';training' : '';
  return { leaves, structure, family, key: family + sizes };
}

function takenApart(args: readonly unknown[]): ReturnType<typeof flattenTree<NDArray>> {
  try {
    return flattenTree(args, isArray);
  } catch (error) {
    // Getters and proxies are user code; their errors propagate unchanged.
    throw error instanceof KaonError
      ? inContext(error, 'an argument cannot be guarded', {})
      : error;
  }
}

/** A readable signature: `(float32[2, 3], {rate: 0.5}) training`. */
export function describeSignature({ structure }: CallSignature, types: readonly string[]): string {
  let next = 0;
  const show = (part: TreeStructure): string => {
    if (part.kind === 'leaf') return types[next++];
    if (part.kind === 'static') return structureToString(part);
    if (part.kind === 'list') return `[${part.entries.map(show).join(', ')}]`;
    return `{${part.entries.map((entry, i) => `${part.keys[i]}: ${show(entry)}`).join(', ')}}`;
  };
  const shown = structure.kind === 'list' ? structure.entries.map(show).join(', ') : '';
  const flags = [
    ...(mode.session === null ? [] : ['recording']),
    ...(mode.training ? ['training'] : []),
  ];
  return [`(${shown})`, ...flags].join(' ');
}

/** Names for the leaves of a structure: the keys on their path, and numbers where there are several. */
export function leafNames(structure: TreeStructure, hint: string): string[] {
  const names: string[] = [];
  const visit = (part: TreeStructure, path: string): void => {
    if (part.kind === 'leaf') names.push(path);
    else if (part.kind === 'list') {
      part.entries.forEach((entry, i) => visit(entry, path === '' ? String(i) : `${path}.${i}`));
    } else if (part.kind === 'record') {
      part.entries.forEach((entry, i) =>
        visit(entry, path === '' ? part.keys[i] : `${path}.${part.keys[i]}`),
      );
    }
  };
  visit(structure, '');
  if (names.length === 1)
    return [/^[\d.]*$/.test(names[0]) ? hint : names[0].replace(/^\d+\./, '')];
  const bare = names.map((name) => name.replace(/^\d+\.(?=\D)/, ''));
  const chosen = new Set(bare).size === bare.length ? bare : names;
  return chosen.map((name) => (/^\d/.test(name) ? `${hint}${name.replaceAll('.', '_')}` : name));
}
