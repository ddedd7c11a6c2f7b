import { test, undecidable } from './values/host.js';
import { membersOf } from './values/moments.js';
import { before, op, step } from './values/numbers.js';
import { optionalOf } from './values/optionals.js';
import { isDecided, logChange } from './values/path.js';
import { changing, type Members } from './values/tracking.js';

/* Writes of members in converted code, which tell what they change. */

/** A member of an object, of which the object and the key have been evaluated. */
interface Place {
  readonly read: () => unknown;
  /** Writes it, and tells that it changes. */
  readonly write: (value: unknown) => void;
  readonly site: string;
}

/**
 * `object[key]`. A key that is an object is converted for reading and for writing, as V8 does. `isSloppy`: in sloppy
 * mode, where what cannot be assigned stays as it is.
 */
export function member(
  object: unknown,
  key: unknown,
  site: string,
  isSloppy: boolean = false,
): Place {
  const [members, name] = [object as Members, key as PropertyKey];
  return {
    site,
    read: () => members[name],
    write: (value) => {
      changing(members, name, site);
      if (!isSloppy || object === null || object === undefined) members[name] = value;
      else Reflect.set(Object(object) as object, name, value, object);
    },
  };
}

/** A member that only syntax can name: a text for a private one; `this` and the key, or no key where that is the subject. */
type Slot = string | readonly [self: object, key?: PropertyKey];

/** `object.#key`, or `super.key`: `read` and `write` name it, for an object or a key. */
export function syntaxMember<T>(
  subject: T,
  read: (subject: T) => unknown,
  write: (subject: T, value: unknown) => unknown,
  site: string,
  slot: Slot = '',
): Place {
  return {
    site,
    read: () => read(subject),
    write: (value) => {
      if (typeof slot === 'string') changing(subject, { read, write, slot }, site);
      else changing(slot[0], slot.length > 1 ? slot[1]! : (subject as PropertyKey), site);
      write(subject, value);
    },
  };
}

/** `place = value`. */
export function setMember({ write }: Place, value: unknown): unknown {
  write(value);
  return value;
}

/** `place += value` and its like. */
export function update(to: Place, operator: string, value: () => unknown): unknown {
  const old = to.read();
  return setMember(to, op(operator, old, value()));
}

/** `++place`, `place++` and their like. */
export function increment(to: Place, by: 1 | -1, isPrefix: boolean): unknown {
  const old = to.read();
  return isPrefix ? setMember(to, step(old, by)) : before(old, by, to.write);
}

/** `place ||= value` and its like. */
export function assignIf(operator: '||' | '&&' | '??', to: Place, value: () => unknown): unknown {
  const old = to.read();
  return isKept(operator, old, to.site) ? old : setMember(to, value());
}

function isKept(operator: '||' | '&&' | '??', old: unknown, site: string): boolean {
  if (optionalOf(old) !== undefined) throw undecidable(`${operator}= of this member`, site);
  if (operator === '??') return old !== null && old !== undefined;
  return Boolean(test(old, site, `${operator}= of this member`)) === (operator === '||');
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
    for (const key of keys) setMember(member(object, key, site), members[key]);
  }
  return object;
}
