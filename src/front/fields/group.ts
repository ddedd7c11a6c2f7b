import { isGuardedByIdentity } from '../options/capturable.js';
import { NDArray } from '../core/ndarray.js';
import type { IgnoredFields } from './ignored.js';
import { readsOutside } from './outside.js';
import { watchedValue } from './watch.js';

/*
 * The fields of objects that captured code works with: blocks, and objects whose methods are captured. The
 * values of all their fields are noted when a trace reaches them, through plain objects, lists, maps, sets
 * and other blocks, and compared before each call: arrays, parameters and functions by identity, primitives
 * by value.
 */

/**
 * Limit of compared entries: longer lists, maps, sets and typed arrays are compared up to here, and beyond by
 * their length only.
 */
const mostEntries = 1024;
/** Marks a value that is not compared: an accessor, or a field that the code does not read. */
export const unguarded: unique symbol = Symbol('unguarded');

type Kind = 'record' | 'list' | 'map' | 'set';

/** The values that one object holds. */
export interface FieldGroup {
  readonly kind: Kind;
  /** The most frequent kind as a flag, which avoids comparing text. */
  readonly isRecord: boolean;
  readonly object: object;
  readonly path: string;
  /** Field in which the object was found; null for a root. */
  readonly holder: Slot | null;
  /** Names of a record, strings first; keys of a map; none for lists and sets. */
  readonly keys: readonly unknown[];
  /** Number of names that are strings. */
  readonly strings: number;
  readonly values: readonly unknown[];
  /** The length of a list, the size of a map or set. */
  readonly size: number;
}

/** A place that holds a value. */
export interface Slot {
  readonly group: FieldGroup;
  readonly key: unknown;
}

export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** True for objects whose contents are compared, not only their identity. */
export function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof NDArray) return false;
  return !isGuardedByIdentity(value);
}

export function groupOf(
  object: object,
  path: string,
  holder: Slot | null,
  ignored: IgnoredFields,
): FieldGroup | null {
  const rest = { object, path, holder, isRecord: false, strings: 0, keys: [] };
  if (Array.isArray(object) || isNumbers(object)) {
    const values = Array.prototype.slice.call(object, 0, mostEntries) as unknown[];
    return { ...rest, kind: 'list', values, size: object.length };
  }
  if (object instanceof Map) {
    const entries = [...object].slice(0, mostEntries);
    const [keys, values] = [0, 1].map((i) => entries.map((entry): unknown => entry[i]));
    return { ...rest, kind: 'map', keys, values, size: object.size };
  }
  if (object instanceof Set) {
    const values = [...object].slice(0, mostEntries);
    return { ...rest, kind: 'set', values, size: object.size };
  }
  if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) return null;
  const names = stringKeys(object);
  const keys = [...names, ...Object.getOwnPropertySymbols(object).filter(isEnumerableIn(object))];
  const values = keys.map((key) => (ignored.has(object, key) ? unguarded : dataValue(object, key)));
  return {
    ...rest,
    kind: 'record',
    isRecord: true,
    keys,
    strings: names.length,
    values,
    size: keys.length,
  };
}

/** True for typed arrays; their elements are compared like those of lists. */
function isNumbers(object: object): object is ArrayLike<unknown> & object {
  return ArrayBuffer.isView(object) && !(object instanceof DataView);
}

/** In the order of `isUnchanged`: keys of prototypes, too. */
function stringKeys(object: object): readonly string[] {
  const keys: string[] = [];
  for (const key in object) keys.push(key);
  return keys;
}

function isEnumerableIn(object: object): (key: symbol) => boolean {
  return (key) => Object.prototype.propertyIsEnumerable.call(object, key);
}

/** The value of a data property. An accessor may have side effects, so it is not called. */
function dataValue(object: object, key: PropertyKey): unknown {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object) {
    const property = Object.getOwnPropertyDescriptor(at, key);
    if (property === undefined) continue;
    if ('value' in property) return property.value as unknown;
    const { get } = property;
    if (get !== undefined && readsOutside(get)) return get.call(object) as unknown;
    const watched = get === undefined ? undefined : watchedValue(get);
    return watched === undefined ? unguarded : watched.value;
  }
  return undefined;
}

/** The classes of an object that have static fields. */
export function classesOf(object: object): readonly (new () => unknown)[] {
  const found: (new () => unknown)[] = [];
  let at = Object.getPrototypeOf(object) as object | null;
  for (; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    const owner: unknown = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof owner === 'function' && Object.keys(owner).length > 0) {
      found.push(owner as new () => unknown);
    }
  }
  return found;
}

export function keyAt({ kind, keys }: FieldGroup, i: number): unknown {
  return kind === 'record' || kind === 'map' ? keys[i] : i;
}

type Values = Readonly<Record<PropertyKey, unknown>>;

export function isUnchanged(group: FieldGroup): boolean {
  switch (group.kind) {
    case 'record':
      return isSameRecord(group);
    case 'list':
      return isSameList(group);
    default:
      return isSameCollection(group);
  }
}

export function isSameRecord(group: FieldGroup): boolean {
  const { keys, values } = group;
  const now = group.object as Values;
  let next = 0;
  // Unlike `Object.keys` this allocates no list.
  for (const key in now) {
    if (key !== keys[next] || !isSame(now[key], values[next])) return false;
    next++;
  }
  if (next !== group.strings) return false;
  for (; next < keys.length; next++) {
    if (!isSame(now[keys[next] as symbol], values[next])) return false;
  }
  return true;
}

/** An inlinable `Object.is`; an unguarded value equals anything. */
function isSame(now: unknown, noted: unknown): boolean {
  if (now === noted) return noted !== 0 || Object.is(now, noted);
  return noted === unguarded || (now !== now && noted !== noted);
}

function isSameList({ object, values, size }: FieldGroup): boolean {
  const now = object as readonly unknown[];
  if (now.length !== size) return false;
  for (let i = 0; i < values.length; i++) if (!isSame(now[i], values[i])) return false;
  return true;
}

// State of one comparison of a map or set, outside of the callback to avoid a closure for each call.
let compared: FieldGroup;
let position = 0;
let areSame = true;

function compareEntry(value: unknown, key: unknown): void {
  const at = position++;
  if (!areSame || at >= compared.values.length) return;
  areSame =
    Object.is(value, compared.values[at]) &&
    (compared.kind === 'set' || Object.is(key, compared.keys[at]));
}

function isSameCollection(group: FieldGroup): boolean {
  const now = group.object as ReadonlyMap<unknown, unknown>;
  if (now.size !== group.size) return false;
  [compared, position, areSame] = [group, 0, true];
  now.forEach(compareEntry);
  return areSame;
}
