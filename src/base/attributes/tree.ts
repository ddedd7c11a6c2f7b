import { describe } from './attribute.js';
import { ArgumentError } from '../errors.js';

/**
 * The shape of a nested value: lists and plain objects around leaves. All else in it is static: primitives,
 * compared by value, and functions, by identity.
 */
export type TreeStructure =
  | { readonly kind: 'leaf' }
  | { readonly kind: 'static'; readonly value: Static }
  | { readonly kind: 'list'; readonly entries: readonly TreeStructure[] }
  | {
      readonly kind: 'record';
      /** In insertion order; a different order is a different structure. */
      readonly keys: readonly string[];
      readonly entries: readonly TreeStructure[];
    };

export type Static =
  null | undefined | boolean | number | bigint | string | symbol | ((...args: never[]) => unknown);

export interface Flattened<L> {
  /** Depth first, in list order and key order. */
  readonly leaves: readonly L[];
  readonly structure: TreeStructure;
}

/** Limit of nesting: deeper values are not data that somebody nested on purpose. */
const deepest = 1000;

const leaf: TreeStructure = { kind: 'leaf' };

/**
 * Takes a nested value apart. `isLeaf` is asked first, so it may claim objects of any kind.
 *
 * @throws ArgumentError of `op`, naming the place, for an object that is neither a leaf nor a list nor
 * plain, for one that contains itself, and for one with symbols as keys.
 */
export function flattenTree<L>(
  tree: unknown,
  isLeaf: (value: unknown) => value is L,
  op?: string,
): Flattened<L> {
  const refusal = (problem: string, path: readonly (string | number)[], actual: string) =>
    refused(problem, path, actual, op);
  const leaves: L[] = [];
  const path: (string | number)[] = [];
  const open = new Set<object>();
  const visit = (value: unknown): TreeStructure => {
    if (isLeaf(value)) {
      leaves.push(value);
      return leaf;
    }
    if (isStatic(value)) return { kind: 'static', value };
    if (open.has(value)) throw refusal('the value contains itself', path, describe(value));
    if (open.size === deepest) throw refusal('the value is nested too deeply', path, '');
    open.add(value);
    const structure = visitEntries(value);
    open.delete(value);
    return structure;
  };
  const visitEntries = (value: object): TreeStructure => {
    const inside = (key: string | number, entry: unknown): TreeStructure => {
      path.push(key);
      const structure = visit(entry);
      path.pop();
      return structure;
    };
    if (Array.isArray(value)) {
      if (!isPlainList(value)) {
        throw refusal('a list has a class or properties of its own', path, describe(value));
      }
      return { kind: 'list', entries: Array.from(value, (entry, i) => inside(i, entry)) };
    }
    if (!isPlainObject(value)) {
      throw refusal('this value has no place among arrays', path, describe(value));
    }
    if (Object.getOwnPropertySymbols(value).length > 0) {
      throw refusal('an object has symbols as keys', path, describe(value));
    }
    const keys = Object.keys(value);
    const entries = keys.map((key) => inside(key, (value as Record<string, unknown>)[key]));
    return { kind: 'record', keys, entries };
  };
  const structure = visit(tree);
  return { leaves, structure };
}

/** Puts a nested value together again; the inverse of `flatten`. */
export function unflattenTree(structure: TreeStructure, leaves: readonly unknown[]): unknown {
  let next = 0;
  const build = (part: TreeStructure): unknown => {
    switch (part.kind) {
      case 'leaf':
        return leaves[next++];
      case 'static':
        return part.value;
      case 'list':
        return part.entries.map(build);
      case 'record':
        // fromEntries defines properties, so even a key `__proto__` is only a key.
        return Object.fromEntries(part.keys.map((key, i) => [key, build(part.entries[i])]));
    }
  };
  const tree = build(structure);
  if (next !== leaves.length) {
    throw new ArgumentError('the structure has another number of leaves', {
      op: 'unflatten',
      expected: String(next),
      actual: String(leaves.length),
    });
  }
  return tree;
}

/** True when two values have the same nesting, the same keys in the same order, and the same static parts. */
export function sameStructure(a: TreeStructure, b: TreeStructure): boolean {
  if (a === b) return true;
  if (a.kind === 'static') return b.kind === 'static' && Object.is(a.value, b.value);
  if (a.kind === 'leaf') return b.kind === 'leaf';
  if (a.kind !== b.kind || a.entries.length !== b.entries.length) return false;
  if (a.kind === 'record' && !a.keys.every((key, i) => key === (b as typeof a).keys[i]))
    return false;
  return a.entries.every((entry, i) => sameStructure(entry, (b as typeof a).entries[i]));
}

/**
 * A readable text that is equal exactly when the structures are: `[*, {mask: *, rate: 0.5}]`. Leaves are
 * stars; functions and symbols carry a number, since their names do not tell them apart.
 */
export function structureToString(structure: TreeStructure): string {
  switch (structure.kind) {
    case 'leaf':
      return '*';
    case 'static':
      return staticToString(structure.value);
    case 'list':
      return `[${structure.entries.map(structureToString).join(', ')}]`;
    case 'record': {
      const entries = structure.entries.map(
        (entry, i) => `${keyToString(structure.keys[i])}: ${structureToString(entry)}`,
      );
      return `{${entries.join(', ')}}`;
    }
  }
}

function staticToString(value: Static): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return `function ${nameOf(value)}#${numberOf(value)}`;
  if (typeof value === 'symbol') return `symbol ${nameOf(value)}#${numberOf(value)}`;
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Quoted, because a function may have any text as its name, even one that reads like a structure. */
function nameOf(value: symbol | ((...args: never[]) => unknown)): string {
  const name: unknown = typeof value === 'symbol' ? value.description : value.name;
  return typeof name === 'string' ? keyToString(name) : '""';
}

function keyToString(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

// Identities get a number when first asked for, and are held weakly.
const numbers = new WeakMap<WeakKey, number>();
let identities = 0;

function numberOf(value: symbol | ((...args: never[]) => unknown)): number | 'shared' {
  // A registered symbol is identified by its name, and cannot be a key of a weak map.
  if (typeof value === 'symbol' && Symbol.keyFor(value) !== undefined) return 'shared';
  let number = numbers.get(value);
  if (number === undefined) numbers.set(value, (number = identities++));
  return number;
}

function isStatic(value: unknown): value is Static {
  return value === null || typeof value !== 'object';
}

/**
 * True for objects made by a literal, `Object.create(null)` or JSON, of this realm or another; false for
 * classes that extend null.
 */
export function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** True for lists without a class of their own or named entries, which rebuilding the list would lose. */
function isPlainList(value: readonly unknown[]): boolean {
  const base: unknown = Object.getPrototypeOf(Object.getPrototypeOf(value));
  return (
    base !== null &&
    Object.getPrototypeOf(base) === null &&
    Object.keys(value).length <= value.length
  );
}

function refused(
  problem: string,
  path: readonly (string | number)[],
  actual: string,
  op: string | undefined,
): ArgumentError {
  const place = path
    .slice(0, 20)
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('');
  return new ArgumentError(problem, {
    op,
    expected: 'arrays, primitives and functions in lists and plain objects',
    actual: place === '' ? actual : `${actual} at ${place}`,
  });
}
