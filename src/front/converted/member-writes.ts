import { changing, type Members } from './tracking.js';
import { test, undecidable } from './values/host.js';
import { before, op, step } from './values/numbers.js';
import { membersOf } from './values/moments.js';
import { optionalOf } from './values/optionals.js';
import { isDecided, logChange } from './values/path.js';

/* Writes of members in converted code, which tell what they change. */

/** `object[key] = value`. `isSloppy`: in sloppy mode, where what cannot be assigned stays as it is. */
export function setMember(
  object: unknown,
  key: unknown,
  value: unknown,
  site: string,
  isSloppy: boolean = false,
): unknown {
  const [members, name] = [object as Members, key as PropertyKey];
  changing(members, name, site);
  if (!isSloppy || object === null || object === undefined) members[name] = value;
  else Reflect.set(Object(object) as object, name, value, object);
  return value;
}

/**
 * `object[key] += value` and its like. A key that is an object is converted for reading and for writing, as
 * V8 does.
 */
export function update(
  object: unknown,
  key: unknown,
  site: string,
  operator: string,
  value: () => unknown,
  isSloppy?: boolean,
): unknown {
  const old = (object as Members)[key as PropertyKey];
  return setMember(object, key, op(operator, old, value()), site, isSloppy);
}

/** `++object[key]` and `--object[key]`. */
export function stepMember(
  object: unknown,
  key: unknown,
  site: string,
  by: 1 | -1,
  isSloppy?: boolean,
): unknown {
  const old = (object as Members)[key as PropertyKey];
  return setMember(object, key, step(old, by), site, isSloppy);
}

/** `object[key]++` and `object[key]--`. */
export function beforeMember(
  object: unknown,
  key: unknown,
  site: string,
  by: 1 | -1,
  isSloppy?: boolean,
): unknown {
  const old = (object as Members)[key as PropertyKey];
  return before(old, by, (next) => setMember(object, key, next, site, isSloppy));
}

/** `Object.assign(object, ...sources)`. */
export function assignAll(site: string, object: object, ...sources: readonly unknown[]): object {
  if (!isDecided()) {
    logChange(object, membersOf(object));
    return Object.assign(object, ...sources) as object;
  }
  for (const source of sources) {
    const members = Object(source ?? {}) as Members;
    const keys = Reflect.ownKeys(members).filter((key) => Object.prototype.propertyIsEnumerable.call(members, key)); // prettier-ignore
    for (const key of keys) setMember(object, key, members[key], site);
  }
  return object;
}

/** `object[key] ||= value` and its like. */
export function assignMember(
  operator: '||' | '&&' | '??',
  object: unknown,
  key: unknown,
  value: () => unknown,
  site: string,
  isSloppy?: boolean,
): unknown {
  const old = (object as Members)[key as PropertyKey];
  return isKept(operator, old, site) ? old : setMember(object, key, value(), site, isSloppy);
}

function isKept(operator: '||' | '&&' | '??', old: unknown, site: string): boolean {
  if (optionalOf(old) !== undefined) throw undecidable(`${operator}= of this member`, site);
  if (operator === '??') return old !== null && old !== undefined;
  return Boolean(test(old, site, `${operator}= of this member`)) === (operator === '||');
}

/** The same for a member that only syntax can name: `read` and `write` do so, for an object or a key. */
export function assignPlace<T>(
  operator: '||' | '&&' | '??',
  subject: T,
  read: (subject: T) => unknown,
  write: (subject: T, value: unknown) => unknown,
  value: () => unknown,
  site: string,
  slot: Slot = '',
): unknown {
  const old = read(subject);
  return isKept(operator, old, site) ? old : setPlace(subject, read, write, value(), site, slot);
}

/** A member that only syntax can name: a text for a private one; `this` and the key, or no key where that is the subject. */
type Slot = string | readonly [self: object, key?: PropertyKey];

/** `object.#key = value`, or `super.key = value`. */
export function setPlace<T>(
  subject: T,
  read: (subject: T) => unknown,
  write: (subject: T, value: unknown) => unknown,
  value: unknown,
  site: string,
  slot: Slot,
): unknown {
  if (typeof slot === 'string') changing(subject, { read, write, slot }, site);
  else changing(slot[0], slot.length > 1 ? slot[1]! : (subject as PropertyKey), site);
  return write(subject, value);
}

/** `object.#key += value` and its like. */
export function updatePlace<T>(
  subject: T,
  read: (subject: T) => unknown,
  write: (subject: T, value: unknown) => unknown,
  site: string,
  slot: Slot,
  operator: string,
  value: () => unknown,
): unknown {
  return setPlace(subject, read, write, op(operator, read(subject), value()), site, slot);
}

/** `++object.#key`, `object.#key++` and their like. */
export function stepPlace<T>(
  subject: T,
  read: (subject: T) => unknown,
  write: (subject: T, value: unknown) => unknown,
  site: string,
  slot: Slot,
  by: 1 | -1,
  isPrefix: boolean,
): unknown {
  const set = (next: unknown): unknown => setPlace(subject, read, write, next, site, slot);
  return isPrefix ? set(step(read(subject), by)) : before(read(subject), by, set);
}
