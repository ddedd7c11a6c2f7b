import { mode } from '../../core/mode.js';
import { containerOf, isRebuiltList } from './containers.js';
import { undecidable } from './host.js';
import { membersOf } from './moments.js';
import {
  currentPath,
  isDecided,
  isGivenUp,
  logChange,
  makerOf,
  type MemberKey,
  outermost,
  type PathObjects,
  type ChangeRefusal,
  type TracedPath,
  undecided,
} from './path.js';
import { changingShared } from './shared-objects.js';
import type { TraceFacts } from './trace-facts.js';
import type { Saved, Variables } from './variables.js';

/*
 * Assignments to members of objects. Where an array decides, the members of plain objects that variables of the
 * construct hold go through it with the variables. Others (a parameter of a function inside, another name for the same
 * object, an instance of a class) are found when the construct is traced: it is traced again with these members as
 * variables. Objects that the path makes are told by that: the next trace makes others.
 */

/** The members that a branch or loop changes besides those that its variables hold. */
export class Tracking {
  readonly #facts: TraceFacts;
  /** Objects by the number of the trace that has met them first. */
  readonly #met = new WeakMap<object, number>();
  /** Places at which a path has met unknown objects in the trace before, in their order. */
  readonly #notes = new Map<string, readonly string[]>();
  readonly #keys = new WeakMap<object, Set<string>>();
  #members: {
    readonly object: object;
    readonly key: MemberKey;
    readonly variables: Variables;
    initial: unknown;
  }[] = [];
  #trace = 0;

  private constructor(facts: TraceFacts) {
    this.#facts = facts;
  }

  /** The one of a construct, at the start of another trace. */
  static of(facts: TraceFacts): Tracking {
    const tracking = (facts.tracking ??= new Tracking(facts));
    tracking.#trace++;
    // A trace that was given up has changed them.
    for (const { variables, initial } of tracking.#members) variables.set([initial]);
    return tracking;
  }

  /**
   * Prepares for another trace of the construct around: objects that its trace before has made are others now, and
   * members may have other values.
   */
  revisit(): void {
    this.#notes.clear();
    const { objects } = currentPath();
    this.#members = this.#members.filter(({ object, key }) => {
      // The construct around finds out about them first: inside of this one they have other values.
      const isKept = isGivenUp(object) !== true && objects?.isCarried(object, key) !== false;
      if (!isKept) this.#keys.get(object)!.delete(idOf(key));
      return isKept;
    });
    for (const each of this.#members) [each.initial] = each.variables.get();
  }

  /** The members that are known so far. */
  get variables(): readonly Variables[] {
    return this.#members.map(({ variables }) => variables);
  }

  /** The objects of a path, or of an iteration. */
  onPath(name: string, saved: readonly Saved[]): PathObjects {
    const held = new Set<object | null>(saved.flatMap(({ members }) => members).flatMap(objectsIn));
    for (const each of saved.flatMap((one) => one.environments)) held.add(each);
    const before = this.#notes.get(name) ?? [];
    const notes: string[] = [];
    const own = new Set<object>();
    const undo: (() => void)[] = [];
    const trace = this.#trace;
    let isComplete = true;
    return {
      isHeld: (object) => held.has(object),
      isCarried: (object, key) =>
        held.has(object) || this.#keys.get(object)?.has(idOf(key)) === true,
      track: (object, key, site, isFromBefore, refusal = memberRefusal) => {
        if (own.has(object)) return false;
        // What an earlier trace has met was there before the path.
        const met = isFromBefore ? trace - 1 : (this.#met.get(object) ?? trace);
        this.#met.set(object, met);
        if (met < trace) {
          if (key === null) throw undecidable(refusal.construct, site, refusal.advice);
          if (ArrayBuffer.isView(object))
            throw undecidable('a change of a typed array', site, stateAdvice);
          if (this.#addMember(object, key)) {
            isComplete = false;
            undo.push(undoing(object, key));
          }
          return true;
        }
        const note = `${site} ${key === null ? '' : idOf(key)}`;
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
        this.#facts.learn(`the members of objects, ${trace}`);
      },
    };
  }

  /** False for a member that is known. */
  #addMember(object: object, key: MemberKey): boolean {
    const keys = this.#keys.get(object) ?? new Set<string>();
    this.#keys.set(object, keys);
    const id = idOf(key);
    if (keys.has(id)) return false;
    keys.add(id);
    const variables = memberVariable(object as Members, key);
    this.#members.push({ object, key, variables, initial: variables.get()[0] });
    return true;
  }
}

export type Members = Record<PropertyKey, unknown>;

/** A text that tells members of an object apart; private ones of several classes may have one name. */
function idOf(key: MemberKey): string {
  return typeof key === 'object' ? key.slot : `${typeof key} ${String(key)}`;
}

/** Gives a member its present value again. */
function undoing(object: object, key: MemberKey): () => void {
  const { get, set } = memberVariable(object as Members, key);
  const [value] = get();
  return () => set([value]);
}

/** The objects that the members of variables are in. */
export function objectsIn(members: Saved['members'][number]): readonly object[] {
  if (members === null) return [];
  return [members.object, ...members.entries.flatMap(([, , inner]) => objectsIn(inner))];
}

/** A member of an object as a variable. */
function memberVariable(object: Members, key: MemberKey): Variables {
  const variable = (
    name: string,
    get: () => unknown,
    set: (value: unknown) => void,
  ): Variables => ({
    merged: [{ name, isInteger: false, isTree: false }],
    get: () => [get()],
    set: ([value]) => set(value),
  });
  if (typeof key === 'object') {
    const { read, write } = key;
    return variable(
      environments.has(object) ? key.slot : `${nameOf(object)}.${key.slot.split(' ')[0]}`,
      () => read(object as never),
      (value) => write(object as never, value),
    );
  }
  const wasThere = Object.hasOwn(object, key);
  return variable(
    `${nameOf(object)}${typeof key === 'string' && !/^\d/.test(key) ? `.${key}` : `[${String(key)}]`}`,
    () => object[key],
    (value) => {
      if (value === undefined && !wasThere) delete object[key];
      else object[key] = value;
    },
  );
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

const memberRefusal: ChangeRefusal = { construct: 'a change of an object', advice: stateAdvice };

/** Objects that stand for variables which functions inside of their own write. */
const environments = new WeakSet<object>();

export function environment(): object {
  const made = {};
  environments.add(made);
  return made;
}

/** Tells of a write to a variable of a function around; `null` where that is not known to be captured code. */
export function writing(
  variable: object | null,
  name: string,
  read: () => unknown,
  write: (variable: unknown, value: unknown) => void,
  site: string,
): void {
  if (variable !== null) changing(variable, { read, write, slot: name }, site);
}

/** An object of which a member is about to change. `key`: null where only syntax knows it. */
export function changing<T>(given: T, key: MemberKey | null, site: string): T {
  if (mode.capture === null) return given;
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
  if (isObject) {
    logMember(containerOf(given) ?? given, key);
    changingShared(containerOf(given) ?? given, key, site);
  }
  if (!isDecided()) return given;
  // Written by code in host form, whose object is not told.
  if (!isObject && typeof key === 'object') undecided('a change of an object', site, stateAdvice);
  if (!isObject) return given;
  const object = containerOf(given) ?? given;
  // The code of a setter sees to what it changes.
  if (typeof key !== 'object' && isAccessor(object, key)) return given;
  trackOnPaths(object, key, site, makerOf(given));
  return given;
}

/** An object that a method of the language is about to change, in a way that has no members to restore. */
export function changingWhole(object: object, site: string, refusal: ChangeRefusal): void {
  if (mode.capture === null) return;
  logChange(object, null);
  changingShared(object, null, site);
  if (!isDecided()) return;
  if (isRebuiltList(object)) throw undecidable(refusal.construct, site, refusal.advice);
  trackOnPaths(object, null, site, makerOf(object), refusal);
}

/** Tells the paths around of a change, up to the one that has made the object. */
function trackOnPaths(
  object: object,
  key: MemberKey | null,
  site: string,
  maker: TracedPath | undefined,
  refusal?: ChangeRefusal,
): void {
  const root = outermost(mode.capture);
  const isFromBefore = maker !== undefined && isAround(maker);
  for (let path = currentPath(); path.objects !== null && path.root === root; path = path.around!) {
    if (maker === path) break;
    if (path.objects.isHeld(object)) {
      // Members of what variables hold go through the construct.
      if (refusal !== undefined) throw undecidable(refusal.construct, site, refusal.advice);
    } else if (!path.objects.track(object, key, site, isFromBefore, refusal)) break;
  }
}

/** Logs that a member of an object is about to change. The code of a setter may change anything. */
function logMember(object: object, key: MemberKey | null): void {
  if (key === null || (typeof key !== 'object' && isAccessor(object, key))) logChange(object, null);
  else if (typeof key !== 'object') logChange(object, membersOf(object));
  else logChange(object, () => undoing(object, key), key.slot);
}

/** True for the current path and those around it. */
function isAround(maker: TracedPath): boolean {
  for (let path: TracedPath | null = currentPath(); path !== null; path = path.around) {
    if (path === maker) return true;
  }
  return false;
}

/** An object of which a member is about to be removed. */
export function target(object: unknown, site: string): unknown {
  if (typeof object === 'object' && object !== null) logChange(object, membersOf(object));
  undecided('a change of an object', site, stateAdvice);
  return object;
}
