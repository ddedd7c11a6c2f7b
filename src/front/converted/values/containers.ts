import { type TreeStructure, unflattenTree } from '../../../base/attributes/tree.js';
import type { NDArray } from '../../core/ndarray.js';
import { installValueReading } from '../../dispatch/absent-values.js';
import { mode } from '../../core/mode.js';
import { isArray } from '../../graphs/signature.js';
import {
  held,
  isOptionalTree,
  optionalOf,
  optionalProxy,
  valueKey,
  withoutOptional,
} from './optionals.js';

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
  const optional = optionalOf(value);
  if (optional !== undefined) return isArray(optional.value) ? null : containerOf(optional.value);
  const object = entriesOfLists.get(value) ?? value;
  return isPlainTree(object) ? object : null;
}

/** A value with entries in place of proxies, and functions in place of objects that are no trees. */
export function withoutProxies(given: unknown, open: readonly object[] = []): unknown {
  const value = withoutOptional(given);
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

/** Lists that stand for those that the paths of a construct have given, and are none of these. */
const rebuiltLists = new WeakSet<object>();

export function isRebuiltList(value: object): boolean {
  return rebuiltLists.has(value);
}

/** The value of a tree, with the objects that functions stand for. */
export function rebuilt(
  what: string,
  structure: TreeStructure,
  leaves: readonly NDArray[],
): unknown {
  const withObjects = (value: unknown, place: string): unknown => {
    if (typeof value !== 'object' || value === null || isArray(value)) return standsFor(value);
    if (isOptionalTree(value)) {
      const { '?present': present, '?value': own, '?empty': empty } = value;
      return optionalProxy({ name: place, present, value: withObjects(own, place) , empty }); // prettier-ignore
    }
    const entries = placesIn(value).map(([access, key]) => [key, withObjects((value as Record<string, unknown>)[key], `${place}${access}`)] as const); // prettier-ignore
    if (!Array.isArray(value)) return Object.fromEntries(entries) as object;
    const list = entries.map(([, entry]) => entry);
    rebuiltLists.add(list);
    return list;
  };
  return withObjects(unflattenTree(structure, leaves), what);
}

/** A value with those that may be absent in it read. */
function withoutAbsence(given: unknown): unknown {
  const value = held(given);
  if (typeof value !== 'object' || value === null || isArray(value) || !isPlainTree(value)) return value; // prettier-ignore
  const before = Object.entries(value);
  const after = before.map(([key, entry]) => [key, withoutAbsence(entry)] as const);
  if (after.every(([, entry], i) => entry === before[i][1])) return value;
  return Array.isArray(value) ? after.map(([, entry]) => entry) : Object.fromEntries(after);
}

installValueReading((value, isDeep) => {
  if (mode.capture === null) return value;
  return isDeep ? withoutAbsence(value) : held(value);
});

/** The entries of a list or plain object by how an access to them is written. */
export function placesIn(value: object): readonly (readonly [access: string, key: string])[] {
  const isList = Array.isArray(value);
  return Object.keys(value).map((key) => [isList ? `[${key}]` : key === valueKey ? '' : `.${key}`, key]); // prettier-ignore
}

/** True for lists and plain objects without accessors. */
export function isPlainTree(value: object): boolean {
  if (Array.isArray(value)) return true;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  // Accessors are code: what they read and write are members of their own.
  return Object.values(Object.getOwnPropertyDescriptors(value)).every(({ get, set }) => get === undefined && set === undefined); // prettier-ignore
}
