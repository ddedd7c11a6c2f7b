import { graphDirective } from '../../../base/directive.js';
import { TraceError } from '../../../base/errors.js';
import { check } from '../../../ops/control/index.js';
import { withMode } from '../../core/mode.js';
import { NDArray } from '../../core/ndarray.js';
import { placeOf } from './host.js';
import { currentPath, type TracedPath } from './path.js';

/*
 * Values that one path leaves null or undefined and another one does not. They go through branches and loops with a
 * flag, and with zeros where they are absent. The user's code has a proxy: comparisons with null ask the flag, and any
 * other use of the value checks it when the graph runs, unless the path is known to have the value.
 */

/** A value that may be absent. */
interface Optional {
  /** Its name for errors. */
  readonly name: string;
  /** One bool: true where there is a value. */
  readonly present: NDArray;
  /** The value, of zeros where it is absent. */
  readonly value: unknown;
  readonly empty: Empty;
}

/** The user's value where one is absent; `either` where the data decides which of both. */
export type Empty = null | undefined | 'either';

const optionals = new WeakMap<object, Optional>();

/** The value that may be absent behind a proxy; undefined for other values. */
export function optionalOf(value: unknown): Optional | undefined {
  return typeof value === 'object' && value !== null ? optionals.get(value) : undefined;
}

/** A proxy for a value that may be absent. */
export function optionalProxy(optional: Optional): object {
  const value = (): object => Object(held(proxy)) as object;
  const proxy: object = new Proxy(
    {},
    {
      get: (_, key) => {
        // Promises and printing ask for these.
        if (key === 'then' || (typeof key === 'symbol' && key !== Symbol.iterator))
          return undefined;
        const object = value();
        const member: unknown = Reflect.get(object, key);
        const isBound = typeof member === 'function' && (object instanceof NDArray || Array.isArray(object)); // prettier-ignore
        return isBound ? (member.bind(object) as unknown) : member;
      },
      set: (_, key, given) => Reflect.set(value(), key, given),
      has: (_, key) => Reflect.has(value(), key),
      ownKeys: () => {
        if (optional.value instanceof NDArray || Array.isArray(optional.value)) throw asResult(optional); // prettier-ignore
        return Reflect.ownKeys(value());
      },
      getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(value(), key),
    },
  );
  optionals.set(proxy, optional);
  return proxy;
}

/** A name for the value where one is absent. */
function emptyText(empty: Empty): string {
  return empty === 'either' ? 'null or undefined' : String(empty);
}

function asResult({ name, empty }: Optional): TraceError {
  return new TraceError(`${name} is ${emptyText(empty)} on one path, and is used as a whole`, {
    op: graphDirective,
    expected: 'a value on every path',
    actual: 'one that may be absent',
    advice: `give it a value: ${name} ?? other`,
  });
}

/** A fact about the flag of a value: true where the value is there. */
type Fact = readonly [present: NDArray, holds: boolean];

/** Facts that follow from the outcome of a test. */
interface TestFacts {
  readonly whenTrue: readonly Fact[];
  readonly whenFalse: readonly Fact[];
}

const facts = new WeakMap<NDArray, TestFacts>();

/** Notes what follows from a test. */
export function noteFacts(test: unknown, given: TestFacts): void {
  if (test instanceof NDArray) facts.set(test, given);
}

/** Facts that follow from a test that comes out so. */
export function factsFrom(test: unknown, holds: boolean): readonly Fact[] {
  const found = test instanceof NDArray ? facts.get(test) : undefined;
  return found === undefined ? [] : holds ? found.whenTrue : found.whenFalse;
}

/** Notes facts that hold on the current path from now on. */
export function assume(given: readonly Fact[]): void {
  const { present } = currentPath();
  for (const [flag, holds] of given) present.set(flag, holds);
}

/** Runs code that packs the results of a path, with what that path knows. */
export function knowing<R>({ present }: TracedPath, run: () => R): R {
  const own = currentPath().present;
  const before = [...own];
  for (const [flag, holds] of present) own.set(flag, holds);
  try {
    return run();
  } finally {
    own.clear();
    for (const [flag, holds] of before) own.set(flag, holds);
  }
}

/** True or false where the path tells if a value is there; null where only the data does. */
function isPresent({ present }: Optional): boolean | null {
  for (let path: TracedPath | null = currentPath(); path !== null; path = path.around) {
    const known = path.present.get(present);
    if (known !== undefined) return known;
  }
  return null;
}

/**
 * A value to be used: what may be absent is checked when the graph runs, unless the path tells. Other values stay.
 * `site`: the place of the use, for the error.
 */
export function held(value: unknown, site?: string): unknown {
  const optional = optionalOf(value);
  if (optional === undefined) return value;
  const { name, present, empty } = optional;
  if (isPresent(optional) !== true) {
    const message = `${name} is ${emptyText(empty)} where its value is used`;
    if (site === undefined) check(present, message);
    else withMode(placeOf(site), check.declaration.name, () => check(present, message));
    assume([[present, true]]);
  }
  return optional.value;
}

/** True where a value is neither null nor undefined; an array where only the data tells. */
export function presence(value: unknown): boolean | NDArray {
  const optional = optionalOf(value);
  if (optional === undefined) return value !== null && value !== undefined;
  const { present } = optional;
  if (!facts.has(present)) noteFacts(present, { whenTrue: [[present, true]], whenFalse: [[present, false]] }); // prettier-ignore
  return isPresent(optional) ?? present;
}

/** Members of a tree that stands for a value that may be absent. */
const keys = ['?present', '?value', '?empty'] as const;

/** A tree for such a value. */
export interface OptionalTree {
  readonly '?present': NDArray;
  readonly '?value': unknown;
  readonly '?empty': Empty;
}

/** The member of such a tree that is the value. */
export const valueKey: string = keys[1];

export function optionalTree(present: NDArray, value: unknown, empty: Empty): OptionalTree {
  // prettier-ignore
  return { '?present': present, '?value': value, '?empty': empty };
}

export function isOptionalTree(value: unknown): value is OptionalTree {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, keys[0]);
}

/** A value as a tree; what the path knows of it is no longer optional. */
export function withoutOptional(value: unknown): unknown {
  const optional = optionalOf(value);
  if (optional === undefined) return value;
  const { present, value: own, empty } = optional;
  const known = isPresent(optional);
  if (known === true) return own;
  return known === null || empty === 'either' ? optionalTree(present, own, empty) : empty;
}
