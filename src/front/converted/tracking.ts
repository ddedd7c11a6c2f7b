import { mode } from '../core/mode.js';
import { containerOf } from './containers.js';
import { undecidable } from './host.js';
import { before, op, step } from './numbers.js';
import { currentPath, isDecided, makerOf, outermost, type PathObjects, undecided } from './path.js';
import { Retrace, type Wanted } from './values.js';
import type { Saved, Variables } from './variables.js';

/*
 * Assignments to members of objects. Where an array decides, the members of plain objects that variables of the
 * construct hold go through it with the variables. Others (a parameter of a function inside, another name for the same
 * object, an instance of a class) are found when the construct is traced: it is traced again with these members as
 * variables. Objects that the path makes are told by that: the next trace makes others.
 */

/** The members that a branch or loop changes besides those that its variables hold. */
export class Tracking {
  static readonly #all = new WeakMap<Wanted, Tracking>();

  readonly #wanted: Wanted;
  /** Objects by the number of the trace that has met them first. */
  readonly #met = new WeakMap<object, number>();
  /** Places at which a path has met unknown objects in the trace before, in their order. */
  readonly #notes = new Map<string, readonly string[]>();
  readonly #keys = new WeakMap<object, Set<PropertyKey>>();
  readonly #members: { readonly variables: Variables; readonly initial: unknown }[] = [];
  #trace = 0;

  private constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  /** The one of a construct, at the start of another trace. */
  static of(wanted: Wanted): Tracking {
    const tracking = Tracking.#all.get(wanted) ?? new Tracking(wanted);
    Tracking.#all.set(wanted, tracking);
    tracking.#trace++;
    // A trace that was given up has changed them.
    for (const { variables, initial } of tracking.#members) variables.set([initial]);
    return tracking;
  }

  /** The members that are known so far. */
  get variables(): readonly Variables[] {
    return this.#members.map(({ variables }) => variables);
  }

  /** The objects of a path, or of an iteration. */
  onPath(name: string, saved: readonly Saved[]): PathObjects {
    const held = new Set(saved.flatMap(({ members }) => members).flatMap(objectsIn));
    const before = this.#notes.get(name) ?? [];
    const notes: string[] = [];
    const own = new Set<object>();
    const undo: (() => void)[] = [];
    let isComplete = true;
    return {
      isHeld: (object) => held.has(object),
      track: (object, key, site) => {
        if (own.has(object)) return false;
        const met = this.#met.get(object) ?? this.#trace;
        this.#met.set(object, met);
        if (met < this.#trace) {
          // An earlier trace has met it, so it was there before the path.
          if (key === null) throw undecidable('a change of an object', site, stateAdvice);
          if (this.#addMember(object, key)) {
            isComplete = false;
            undo.push(undoing(object, key));
          }
          return true;
        }
        const note = `${site} ${String(key)}`;
        if (before[notes.length] === note) own.add(object);
        else {
          isComplete = false;
          if (key !== null) undo.push(undoing(object, key));
        }
        notes.push(note);
        return false;
      },
      end: (isReached) => {
        for (const each of undo.splice(0).reverse()) each();
        if (isComplete || !isReached) return;
        this.#notes.set(name, notes);
        this.#wanted.set(`the members of objects, ${this.#trace}`, 'bool');
        throw new Retrace();
      },
    };
  }

  /** False for a member that is known. */
  #addMember(object: object, key: PropertyKey): boolean {
    const keys = this.#keys.get(object) ?? new Set<PropertyKey>();
    this.#keys.set(object, keys);
    if (keys.has(key)) return false;
    keys.add(key);
    const variables = memberVariable(object as Members, key);
    this.#members.push({ variables, initial: variables.get()[0] });
    return true;
  }
}

/** Gives a member its present value again. */
function undoing(object: object, key: PropertyKey): () => void {
  const members = object as Members;
  const [wasThere, value] = [Object.hasOwn(object, key), members[key]];
  return () => {
    if (wasThere) members[key] = value;
    else delete members[key];
  };
}

type Members = Record<PropertyKey, unknown>;

function objectsIn(members: Saved['members'][number]): readonly object[] {
  if (members === null) return [];
  return [members.object, ...members.entries.flatMap(([, , inner]) => objectsIn(inner))];
}

/** A member of an object as a variable. */
function memberVariable(object: Members, key: PropertyKey): Variables {
  const wasThere = key in object;
  const name = `${nameOf(object)}${typeof key === 'string' && !/^\d/.test(key) ? `.${key}` : `[${String(key)}]`}`;
  return {
    merged: [{ name, isInteger: false, isTree: false }],
    get: () => [object[key]],
    set: ([value]) => {
      if (value === undefined && !wasThere) delete object[key];
      else object[key] = value;
    },
  };
}

/** A name for an object in errors. */
function nameOf(object: object): string {
  if (Array.isArray(object)) return 'a list';
  const { constructor } = object as { readonly constructor?: unknown };
  return typeof constructor === 'function' && constructor !== Object
    ? constructor.name
    : 'an object';
}

function isAccessor(object: object, key: PropertyKey): boolean {
  for (
    let at: object | null = object;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const found = Object.getOwnPropertyDescriptor(at, key);
    if (found !== undefined) return found.get !== undefined || found.set !== undefined;
  }
  return false;
}

const stateAdvice =
  'keep the state in a variable, let state = { ... } or an array, and give it to the object afterwards';

/** An object of which a member is about to change. `key`: null where only syntax knows it. */
export function changing<T>(given: T, key: PropertyKey | null, site: string): T {
  if (mode.capture === null || !isDecided()) return given;
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return given;
  const object = containerOf(given) ?? given;
  // The code of a setter sees to what it changes.
  if (key !== null && isAccessor(object, key)) return given;
  const root = outermost(mode.capture);
  for (let path = currentPath(); path.objects !== null && path.root === root; path = path.around!) {
    if (path.objects.isHeld(object)) continue;
    if (makerOf(given) === path || !path.objects.track(object, key, site)) break;
  }
  return given;
}

/** An object of which a member is about to be removed. */
export function target(object: unknown, site: string): unknown {
  undecided('a change of an object', site, stateAdvice);
  return object;
}

/** `object[key] = value`. */
export function setMember(object: unknown, key: unknown, value: unknown, site: string): unknown {
  const [members, name] = [object as Members, key as PropertyKey];
  changing(members, name, site);
  return (members[name] = value);
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
): unknown {
  const [members, name] = [object as Members, key as PropertyKey];
  const old = members[name];
  const next = op(operator, old, value());
  changing(members, name, site);
  return (members[name] = next);
}

/** `++object[key]` and `--object[key]`. */
export function stepMember(object: unknown, key: unknown, site: string, by: 1 | -1): unknown {
  const [members, name] = [object as Members, key as PropertyKey];
  const next = step(members[name], by);
  changing(members, name, site);
  return (members[name] = next);
}

/** `object[key]++` and `object[key]--`. */
export function beforeMember(object: unknown, key: unknown, site: string, by: 1 | -1): unknown {
  const [members, name] = [object as Members, key as PropertyKey];
  return before(members[name], by, (next) => {
    changing(members, name, site);
    members[name] = next;
  });
}
