import { describe } from '../base/attribute.js';
import { typeToString } from '../ir/program.js';
import { isGuardedByIdentity } from './capturable.js';
import { watchedValue } from './fieldwatch.js';
import { IgnoredFields } from './ignoredfields.js';
import { NDArray } from './ndarray.js';

/*
 * The fields of objects that captured code works with: blocks, and objects whose methods are captured. The
 * values of all their fields are noted when a trace reaches them, through plain objects, lists, maps, sets
 * and other blocks, and compared before each call: arrays, parameters and functions by identity, primitives
 * by value.
 */

/** Longer lists, maps, sets and typed arrays are compared up to here, and beyond by their length only. */
const mostEntries = 1024;
/** So many values are noted for one trace, those nearest to its objects first. */
const mostValues = 8192;

/** Stands for a value that is not compared: that of an accessor, or one that the code does not read. */
const unguarded: unique symbol = Symbol('unguarded');

type Kind = 'record' | 'list' | 'map' | 'set';

/** The values that one object holds. */
interface Group {
  readonly kind: Kind;
  /** The most frequent kind, so that no text is compared. */
  readonly isRecord: boolean;
  readonly object: object;
  readonly path: string;
  /** Where the object was found; null for one that a trace named. */
  readonly holder: Slot | null;
  /** Names of a record, strings first; keys of a map; none for lists and sets. */
  readonly keys: readonly unknown[];
  /** How many of the names are strings. */
  readonly strings: number;
  readonly values: readonly unknown[];
  /** The length of a list, the size of a map or set. */
  readonly size: number;
}

/** A place that holds a value. */
export interface Slot {
  readonly group: Group;
  readonly key: unknown;
}

/** A place whose value is another one than was noted. */
export interface FieldChange extends Slot {
  /** `this.k`, `layers.1.k`. */
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
  /** Both values as text. */
  readonly expected: string;
  readonly actual: string;
}

/** Stands for the value of a field that there is not. */
const absent: unique symbol = Symbol('absent');

/** The values of all fields of some objects at one time. */
export class FieldSnapshot {
  readonly #ignored: IgnoredFields;
  readonly #roots: { readonly object: object; readonly name: string }[] = [];
  readonly #groups: Group[] = [];
  readonly #seen: Set<object> = new Set();
  #count = 0;

  constructor(ignored: IgnoredFields = new IgnoredFields()) {
    this.#ignored = ignored;
  }

  /** Notes what an object holds now, unless it is known already. `name` begins the paths of its fields. */
  add(object: object, name: string): void {
    if (this.#seen.has(object)) return;
    // The object whose method is captured comes first; others are told by their classes.
    const isFirst = this.#roots.length === 0;
    const kind = name === 'this' && !isFirst ? object.constructor.name : name;
    const taken = this.#roots.filter((root) => root.name === kind).length;
    const path = taken === 0 ? kind : `${kind}#${taken + 1}`;
    this.#roots.push({ object, name: kind });
    // Breadth first, so that what is near is noted where not everything can be.
    const found: Found[] = [{ object, path, holder: null }];
    for (const next of found) this.#note(next, found);
  }

  /** Whether every value is what it was. Asked before each call, so it builds nothing. */
  isCurrent(): boolean {
    const groups = this.#groups;
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i];
      if (!(group.isRecord ? isSameRecord(group) : isUnchanged(group))) return false;
    }
    return true;
  }

  /** The places whose values are others now. */
  changes(): readonly FieldChange[] {
    return this.#groups.flatMap((group) => (isUnchanged(group) ? [] : changesOf(group)));
  }

  /** The value that was noted for a path; undefined for one that was not. */
  valueAt(path: string): unknown {
    for (const group of this.#groups) {
      const at = group.values.findIndex((_, i) => pathOf(group, keyAt(group, i)) === path);
      if (at >= 0) return group.values[at];
      if (path === lengthPath(group)) return group.size;
    }
    return undefined;
  }

  /** The values now, of the same objects. */
  retaken(ignored: IgnoredFields): FieldSnapshot {
    const next = new FieldSnapshot(ignored);
    for (const { object, name } of this.#roots) next.add(object, name);
    return next;
  }

  /** The same without holding on to any object. */
  weakened(): WeakSnapshot {
    return new WeakSnapshot(this.#roots, this.#groups, this.#ignored);
  }

  /** @internal The snapshot whose parts these are. */
  static of(
    roots: readonly Root[],
    groups: readonly Group[],
    ignored: IgnoredFields,
  ): FieldSnapshot {
    const snapshot = new FieldSnapshot(ignored);
    snapshot.#roots.push(...roots);
    snapshot.#groups.push(...groups);
    for (const { object } of groups) snapshot.#seen.add(object);
    return snapshot;
  }

  #note({ object, path, holder }: Found, found: Found[]): void {
    if (this.#seen.has(object) || this.#count > mostValues) return;
    this.#seen.add(object);
    const group = groupOf(object, path, holder, this.#ignored);
    if (group === null) return;
    this.#count += group.values.length;
    // What is frozen stays as it is; what it holds need not.
    if (!Object.isFrozen(object) || group.kind === 'map' || group.kind === 'set') {
      this.#groups.push(group);
    }
    group.values.forEach((value, i) => {
      if (!isContainer(value)) return;
      const key = keyAt(group, i);
      found.push({ object: value, path: pathInside(group, key), holder: { group, key } });
    });
    if (group.kind === 'record') {
      for (const owner of classesOf(object)) {
        found.push({ object: owner, path: owner.name || 'class', holder: null });
      }
    }
  }
}

type Root = { readonly object: object; readonly name: string };

interface Found {
  readonly object: object;
  readonly path: string;
  readonly holder: Slot | null;
}

/** What a snapshot says while other objects may have taken the place of those in it. */
export class WeakSnapshot {
  readonly #ignored: IgnoredFields;
  readonly #roots: readonly { readonly object: WeakRef<object>; readonly name: string }[];
  readonly #groups: readonly (Omit<Group, 'object' | 'keys' | 'values' | 'holder'> & {
    readonly object: WeakRef<object>;
    readonly keys: readonly unknown[];
    readonly values: readonly unknown[];
    readonly holder: { readonly group: number; readonly key: unknown } | null;
  })[];

  constructor(roots: readonly Root[], groups: readonly Group[], ignored: IgnoredFields) {
    this.#ignored = ignored;
    this.#roots = roots.map(({ object, name }) => ({ object: new WeakRef(object), name }));
    this.#groups = groups.map(({ object, keys, values, holder, ...rest }) => ({
      ...rest,
      object: new WeakRef(object),
      keys: keys.map(weak),
      values: values.map(weak),
      holder: holder && { group: groups.indexOf(holder.group), key: weak(holder.key) },
    }));
  }

  /** The snapshot; null when an object in it is gone. */
  revived(): FieldSnapshot | null {
    const roots: Root[] = [];
    for (const { object, name } of this.#roots) {
      const alive = object.deref();
      if (alive === undefined) return null;
      roots.push({ object: alive, name });
    }
    const groups: Group[] = [];
    for (const { object, keys, values, holder, ...rest } of this.#groups) {
      const alive = object.deref();
      if (alive === undefined || [...keys, ...values].some(isGone)) return null;
      groups.push({
        ...rest,
        object: alive,
        keys: keys.map(strong),
        values: values.map(strong),
        holder:
          holder && holder.group >= 0
            ? { group: groups[holder.group], key: strong(holder.key) }
            : null,
      });
    }
    return FieldSnapshot.of(roots, groups, this.#ignored);
  }
}

function weak(value: unknown): unknown {
  return isObject(value) ? new WeakRef(value) : value;
}

function strong(value: unknown): unknown {
  return value instanceof WeakRef ? value.deref() : value;
}

function isGone(value: unknown): boolean {
  return value instanceof WeakRef && value.deref() === undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Whether the values that an object holds are looked at, not only which object it is. */
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof NDArray) return false;
  return !isGuardedByIdentity(value);
}

function groupOf(
  object: object,
  path: string,
  holder: Slot | null,
  ignored: IgnoredFields,
): Group | null {
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

/** The typed arrays; their elements are compared like those of lists. */
function isNumbers(object: object): object is ArrayLike<unknown> & object {
  return ArrayBuffer.isView(object) && !(object instanceof DataView);
}

/** As `isUnchanged` goes through them: those of prototypes, too. */
function stringKeys(object: object): readonly string[] {
  const keys: string[] = [];
  for (const key in object) keys.push(key);
  return keys;
}

function isEnumerableIn(object: object): (key: symbol) => boolean {
  return (key) => Object.prototype.propertyIsEnumerable.call(object, key);
}

/** The value of a property that is data. An accessor may do anything, so it is not called. */
function dataValue(object: object, key: PropertyKey): unknown {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object) {
    const property = Object.getOwnPropertyDescriptor(at, key);
    if (property === undefined) continue;
    if ('value' in property) return property.value as unknown;
    const watched = property.get === undefined ? undefined : watchedValue(property.get);
    return watched === undefined ? unguarded : watched.value;
  }
  return undefined;
}

/** The classes of an object that have static fields. */
function classesOf(object: object): readonly (new () => unknown)[] {
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

function keyAt({ kind, keys }: Group, i: number): unknown {
  return kind === 'record' || kind === 'map' ? keys[i] : i;
}

type Values = Readonly<Record<PropertyKey, unknown>>;

function isUnchanged(group: Group): boolean {
  switch (group.kind) {
    case 'record':
      return isSameRecord(group);
    case 'list':
      return isSameList(group);
    default:
      return isSameCollection(group);
  }
}

function isSameRecord(group: Group): boolean {
  const { keys, values } = group;
  const now = group.object as Values;
  let next = 0;
  // Unlike `Object.keys` this makes no list.
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

/** Like `Object.is`, which engines call rather than inline; anything is like a value that is not compared. */
function isSame(now: unknown, noted: unknown): boolean {
  if (now === noted) return noted !== 0 || Object.is(now, noted);
  return noted === unguarded || (now !== now && noted !== noted);
}

function isSameList({ object, values, size }: Group): boolean {
  const now = object as readonly unknown[];
  if (now.length !== size) return false;
  for (let i = 0; i < values.length; i++) if (!isSame(now[i], values[i])) return false;
  return true;
}

// State of one comparison of a map or set, outside of the callback so that a call makes no closure.
let compared: Group;
let position = 0;
let areSame = true;

function compareEntry(value: unknown, key: unknown): void {
  const at = position++;
  if (!areSame || at >= compared.values.length) return;
  areSame =
    Object.is(value, compared.values[at]) &&
    (compared.kind === 'set' || Object.is(key, compared.keys[at]));
}

function isSameCollection(group: Group): boolean {
  const now = group.object as ReadonlyMap<unknown, unknown>;
  if (now.size !== group.size) return false;
  [compared, position, areSame] = [group, 0, true];
  now.forEach(compareEntry);
  return areSame;
}

function changesOf(group: Group): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  const add = (key: unknown, path: string, from: unknown, to: unknown): void => {
    if (from === unguarded || Object.is(from, to)) return;
    const [expected, actual] = describeBoth(from, to);
    changes.push({ group, key, path, from, to, expected, actual });
  };
  const now = groupOf(group.object, group.path, group.holder, new IgnoredFields())!;
  if (group.kind === 'record' || group.kind === 'map') {
    const before = new Map(group.keys.map((key, i) => [key, group.values[i]]));
    const after = new Map(now.keys.map((key, i) => [key, now.values[i]]));
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const [from, to] = [before, after].map((each) => (each.has(key) ? each.get(key) : absent));
      add(key, pathOf(group, key), from, to === unguarded ? absent : to);
    }
  } else {
    const count = Math.min(group.values.length, now.values.length);
    for (let i = 0; i < count; i++) add(i, pathOf(group, i), group.values[i], now.values[i]);
  }
  if (group.kind !== 'record') add('length', lengthPath(group), group.size, now.size);
  // Nothing but the order of keys.
  if (changes.length === 0) {
    const [expected, actual] = [group, now].map(({ keys }) => keys.map(String).join(', '));
    const path = `the order of ${group.path}`;
    changes.push({ group, key: undefined, path, from: group, to: now, expected, actual });
  }
  return changes;
}

function lengthPath({ kind, path }: Group): string {
  return `${path}.${kind === 'list' ? 'length' : 'size'}`;
}

/** `this.k`, `layers.1.k`, `table.get("a")`. */
function pathOf({ kind, path }: Group, key: unknown): string {
  if (kind === 'map')
    return `${path}.get(${typeof key === 'string' ? JSON.stringify(key) : String(describe(key))})`;
  if (typeof key === 'number') return `${path}.${key}`;
  if (typeof key === 'symbol') return `${path}[${String(key)}]`;
  return /^[\w$]+$/.test(String(key))
    ? `${path}.${String(key)}`
    : `${path}[${JSON.stringify(key)}]`;
}

/** The path of what a place holds: below `this`, paths are those of parameters. */
function pathInside(group: Group, key: unknown): string {
  const path = pathOf(group, key);
  return group.holder === null ? path.replace(/^this\./, '') : path;
}

function describeBoth(from: unknown, to: unknown): readonly [string, string] {
  const [before, after] = [describeField(from), describeField(to)];
  return [before, before === after ? `another: ${after}` : after];
}

function describeField(value: unknown): string {
  if (value === absent) return 'nothing';
  if (value instanceof NDArray) return `an array ${typeToString(value.type)}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (!isObject(value)) return typeof value === 'bigint' ? `${value}n` : String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const owner: unknown = (value as { readonly constructor?: unknown }).constructor;
  return typeof owner === 'function' && owner !== Object ? owner.name : 'an object';
}
