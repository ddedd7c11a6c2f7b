import { NDArray } from '../core/ndarray.js';

/*
 * What converted code reads from outside: variables of modules and closures, and members of objects in them. Each
 * is an accessor of one object, whose values are guarded like fields, but not what they hold.
 */

/** A variable, its name, and the names of the member in it that is read. */
export type OutsideRead = readonly [read: () => unknown, name: string, ...keys: string[]];

const getters = new WeakSet<() => unknown>();
const holders = new WeakSet<object>();

/** Value of a variable that is not initialized yet. */
const uninitialized: unique symbol = Symbol('uninitialized');

/** True for the accessor of such a value. */
export function readsOutside(getter: () => unknown): boolean {
  return getters.has(getter);
}

/** True for the object of such accessors. */
export function holdsOutside(object: object): boolean {
  return holders.has(object);
}

/** The object whose accessors are the values. */
export function outsideHolder(reads: readonly OutsideRead[]): object {
  const holder: object = Object.create(null) as object;
  for (const [read, name, ...keys] of reads) {
    const known = keys.slice(0, plainLength(variableValue(read), keys));
    const get = (): unknown => {
      let value = variableValue(read);
      for (const key of known) {
        if (!isPlain(value)) return value;
        value = (value as Readonly<Record<string, unknown>>)[key];
      }
      return value;
    };
    const path = [name, ...known].join('.');
    if (Object.hasOwn(holder, path)) continue;
    getters.add(get);
    Object.defineProperty(holder, path, { get, enumerable: true });
  }
  holders.add(holder);
  return holder;
}

function variableValue(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    // Nobody can have read it either.
    if (error instanceof ReferenceError) return uninitialized;
    throw error;
  }
}

/** The number of names that lead through data properties: accessors may give another value each time. */
function plainLength(first: unknown, keys: readonly string[]): number {
  let value = first;
  for (const [i, key] of keys.entries()) {
    if (!isPlain(value)) return i;
    let at: object | null = value;
    while (at !== null && !Object.hasOwn(at, key)) at = Object.getPrototypeOf(at) as object | null;
    const property = at === null ? undefined : Object.getOwnPropertyDescriptor(at, key);
    if (property !== undefined && !('value' in property)) return i;
    value = property?.value;
  }
  return keys.length;
}

/** True for objects whose members are data; arrays are values themselves. */
function isPlain(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && !(value instanceof NDArray); // prettier-ignore
}
