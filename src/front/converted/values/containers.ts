import { type TreeStructure, unflattenTree } from '../../../base/attributes/tree.js';
import type { NDArray } from '../../core/ndarray.js';
import { isArray } from '../../graphs/signature.js';

/*
 * Plain objects and lists, whose arrays go through branches and loops, and objects in them that do not: instances of
 * classes, maps, lists that collect rows. These are kept as they are.
 */

/** The entries of lists that are made in captured code, by the proxy that the user's code has. */
const entriesOfLists = new WeakMap<object, readonly unknown[]>();

/** Lists that collect rows: no trees of their entries, but one value each. */
const collecting = new WeakSet<object>();

/** Functions that stand in trees for objects that are no trees, and these objects. */
const standIns = new WeakMap<object, () => object>();
const objectsOf = new WeakMap<() => object, object>();

/** Notes the entries of a list behind a proxy. */
export function noteList(list: object, entries: readonly unknown[]): void {
  entriesOfLists.set(list, entries);
}

/** True for a list that collects rows. */
export function isCollecting(value: unknown): boolean {
  return typeof value === 'object' && value !== null && collecting.has(value);
}

/** Notes that a list collects rows. */
export function collectRows(list: object): void {
  collecting.add(list);
}

/** The object behind a proxy; null for what is no tree: a list that collects rows, an instance of a class. */
export function containerOf(value: unknown): object | null {
  if (typeof value !== 'object' || value === null || collecting.has(value)) return null;
  const object = entriesOfLists.get(value) ?? value;
  return isPlainTree(object) ? object : null;
}

/** A value with entries in place of proxies, and functions in place of objects that are no trees. */
export function withoutProxies(value: unknown, open: readonly object[] = []): unknown {
  if (typeof value !== 'object' || value === null || isArray(value)) return value;
  const object = containerOf(value);
  // What contains itself is no tree either.
  if (object === null || open.includes(object)) return standInFor(value);
  const before = Object.entries(object);
  const after = before.map(([key, entry]) => [key, withoutProxies(entry, [...open, object])] as const); // prettier-ignore
  if (object === value && after.every(([, entry], i) => entry === before[i][1])) return value;
  return Array.isArray(object) ? after.map(([, entry]) => entry) : Object.fromEntries(after);
}

function standInFor(object: object): () => object {
  const standIn = standIns.get(object) ?? ((): object => object);
  standIns.set(object, standIn);
  objectsOf.set(standIn, object);
  return standIn;
}

/** The object that a function stands for; other values as they are. */
export function standsFor(value: unknown): unknown {
  return typeof value === 'function' ? (objectsOf.get(value as () => object) ?? value) : value;
}

/** The value of a tree, with the objects that functions stand for. */
export function rebuilt(structure: TreeStructure, leaves: readonly NDArray[]): unknown {
  const withObjects = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || isArray(value)) return standsFor(value);
    if (Array.isArray(value)) return value.map(withObjects);
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, withObjects(entry)]),
    );
  };
  return withObjects(unflattenTree(structure, leaves));
}

/** True for lists and plain objects without accessors. */
export function isPlainTree(value: object): boolean {
  if (Array.isArray(value)) return true;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  // Accessors are code: what they read and write are members of their own.
  return Object.values(Object.getOwnPropertyDescriptors(value)).every(({ get, set }) => get === undefined && set === undefined); // prettier-ignore
}
