import { graphDirective } from '../../../base/directive.js';
import { TraceError } from '../../../base/errors.js';
import { containerOf } from './containers.js';
import { placeOf } from './host.js';
import { membersOf } from './moments.js';
import { logChange, makerOf, type MemberKey } from './path.js';

/*
 * Where two paths give a variable different objects, what goes on is a third one. Eager code has one object by two
 * names then: what is written by one of them has no value by the other, and reading it there is refused.
 */

/** Objects that stand for each other, both ways; of lists the one that stands for others. */
const others = new WeakMap<object, object[]>();

/** Places at which lists have changed by another name, by their entries. */
const changedLists = new WeakMap<object, string>();

/** Notes that a value stands for one of those given, of which an array has chosen one. */
export function noteChoice(chosen: unknown, given: readonly unknown[]): void {
  const object = containerOf(chosen);
  const sources = given.map(containerOf);
  if (object === null || sources.includes(object) || sources[0] === sources[1]) return;
  for (const [i, source] of sources.entries()) {
    // Others are not known to have a second name.
    if (source === null || makerOf(given[i] as object) === undefined) continue;
    addTo(object, source);
    if (!Array.isArray(source)) addTo(source, object);
  }
}

function addTo(object: object, other: object): void {
  others.set(object, [...(others.get(object) ?? []), other]);
}

/** Tells of a write to a member of an object, or to any (`key`: null). */
export function changingShared(object: object, key: MemberKey | null, site: string): void {
  for (const other of others.get(object) ?? []) {
    if (Array.isArray(other)) {
      logChange(other, () => () => changedLists.delete(other));
      changedLists.set(other, site);
      continue;
    }
    const keys = key === null ? Object.keys(other) : typeof key === 'object' ? [] : [key];
    for (const each of keys) if (Object.hasOwn(other, each)) spoil(other, each, site);
  }
}

/** Refuses the use of a list, given by its entries, that has changed by another name. */
export function refuseChanged(entries: object, name: string): void {
  const site = changedLists.get(entries);
  if (site !== undefined) throw changedElsewhere(name, site);
}

/** Makes the reading of a member an error, until it is written. */
function spoil(object: object, key: PropertyKey, site: string): void {
  logChange(object, membersOf(object));
  const shape = { configurable: true, enumerable: true };
  Object.defineProperty(object, key, {
    ...shape,
    get: () => {
      throw changedElsewhere(`.${String(key)} of an object`, site);
    },
    set: (value: unknown) => {
      Object.defineProperty(object, key, { ...shape, writable: true, value });
    },
  });
}

/** Error about what is read after it has changed by another name. */
function changedElsewhere(what: string, site: string): TraceError {
  return new TraceError(
    `${what} is read after a change by another name, for which an array has chosen one of several`,
    {
      op: graphDirective,
      advice: 'change it in each branch, by the name that it has there',
      ...placeOf(site),
    },
  );
}
