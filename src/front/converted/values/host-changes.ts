import type { ChangeRefusal } from './path.js';
import { changingWhole } from './tracking.js';

/* Objects of the language that have state of their own: what changes it on a path that an array decides is refused. */

const collectionRefusal: ChangeRefusal = {
  construct: 'a change of a list, map or set',
  advice:
    'declare the list by itself, const list = [], or in an object, const state = { list: [] }; push rows to it, and use kn.stack(list) afterwards. Where a test chooses between lists, push in each branch. A list that a captured branch or loop assigns keeps its length: write into an array of fixed size instead',
};

const placeRefusal: ChangeRefusal = {
  construct: 'a step of an iterator that began before',
  advice: 'make a list of it first, const values = [...iterator], or count steps in a variable and index an array', // prettier-ignore
};

const searchRefusal: ChangeRefusal = {
  construct: 'a search that moves lastIndex of a regular expression',
  advice: 'search before the test, or without the flags g and y',
};

const dateRefusal: ChangeRefusal = {
  construct: 'a change of a date',
  advice: 'keep the time as a number in a variable, and make the date of it afterwards',
};

const collections = [Array, Map, Set, WeakMap, WeakSet];

const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object;

function isIterator(object: object): boolean {
  return Object.prototype.isPrototypeOf.call(iterators, object);
}

/** Refusal of a change of what a method of the language changes; null for other objects. */
function refusalFor(object: object): ChangeRefusal | null {
  if (ArrayBuffer.isView(object) || collections.some((kind) => object instanceof kind)) return collectionRefusal; // prettier-ignore
  if (isIterator(object)) return placeRefusal;
  if (object instanceof RegExp) return object.global || object.sticky ? searchRefusal : null;
  return object instanceof Date ? dateRefusal : null;
}

/** Tells of a value whose method may change it. */
export function changingHost(value: unknown, site: string): void {
  if (typeof value !== 'object' || value === null) return;
  const refusal = refusalFor(value);
  if (refusal === null) return;
  changingWhole(value, site, refusal);
  // Views of one buffer are other objects.
  if (ArrayBuffer.isView(value)) changingWhole(value.buffer, site, refusal);
}

/** Iterators that have a name, so that others can see at which place they are. */
const named = new WeakSet<object>();

/** A value that a loop goes over, of which there is a name: an iterator is at another place afterwards. */
export function iterated<T>(value: T, site: string): T {
  if (typeof value !== 'object' || value === null || !isIterator(value)) return value;
  changingWhole(value, site, placeRefusal);
  named.add(value);
  return value;
}

/** True for the iterator of a list, map, set or text that only the loop knows, such as `list.entries()`. */
export function isOfCollection(value: unknown): boolean {
  const isOne = /^\[object (?:Array|Map|Set|String) Iterator\]$/.test(Object.prototype.toString.call(value)); // prettier-ignore
  return isOne && !named.has(value as object);
}
