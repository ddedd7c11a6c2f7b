/**
 * Checks of the arguments and options of public functions. Attributes of operators are checked by
 * `schema.ts`.
 */
import { bool, describe, int, string, type ValueRule } from './attribute.js';
import { type DType, isDType, dtypes } from '../dtype.js';
import { ArgumentError } from '../errors.js';

export type { ValueRule };

/** A rule for each option of an options object, so that a new option cannot be forgotten. */
export type OptionRules<O> = { readonly [K in keyof O]-?: ValueRule };

/** A rule from its text and its predicate. */
export function valueRule<T>(
  expected: string,
  accepts: (value: unknown) => value is T,
): ValueRule<T> {
  return { expected, accepts };
}

const numberWhere = (expected: string, holds: (value: number) => boolean): ValueRule<number> =>
  valueRule(expected, (value): value is number => typeof value === 'number' && holds(value));

/** `true` or `false`. */
export const flag: ValueRule<boolean> = bool;
/** Any string. */
export const textRule: ValueRule<string> = string;
/** A finite number. */
export const finite: ValueRule<number> = numberWhere('a finite number', Number.isFinite);
/** A finite number above 0. */
export const positiveNumber: ValueRule<number> = numberWhere(
  'a finite number above 0',
  (value) => Number.isFinite(value) && value > 0,
);
/** A finite number of at least 0. */
export const nonNegative: ValueRule<number> = numberWhere(
  'a finite number of at least 0',
  (value) => Number.isFinite(value) && value >= 0,
);
/** A whole number, which may be negative: an axis for one. */
export const integer: ValueRule<number> = int;
/** A number from 0 to 1, both included. */
export const fraction: ValueRule<number> = numberWhere(
  'a number from 0 to 1',
  (value) => value >= 0 && value <= 1,
);
/** Any callable. */
export const callable: ValueRule<(...args: never[]) => unknown> = valueRule(
  'a function',
  (value): value is (...args: never[]) => unknown => typeof value === 'function' && !isClass(value),
);
/** A class, which cannot be called without `new`: its prototype cannot be replaced. */
function isClass(value: object): boolean {
  return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false;
}

/** Bytes of a file. */
export const bytesRule: ValueRule<Uint8Array> = valueRule(
  'a Uint8Array',
  (value): value is Uint8Array => value instanceof Uint8Array,
);
/** One of the nine dtypes. */
export const dtypeName: ValueRule<DType> = valueRule(`one of ${dtypes.join(', ')}`, isDType);

/** A whole number of at least `least`, and of at most `most` where that is given. */
export function integerFrom(least: number, most: number = Infinity): ValueRule<number> {
  const above = most === Infinity ? '' : ` and at most ${most}`;
  return numberWhere(
    `a whole number of at least ${least}${above}`,
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
  );
}

/** One of the given values, compared by identity. */
export function oneOfValues<const T>(...values: readonly T[]): ValueRule<T> {
  const spelled = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  return {
    ...valueRule(`one of ${spelled.join(', ')}`, (value): value is T =>
      values.includes(value as T),
    ),
    advise: (value) =>
      nearestAdvice(
        value,
        values.filter((each) => typeof each === 'string'),
      ),
  };
}

/** "Did you mean" advice for an unknown name; undefined when no known name is close. */
export function nearestAdvice(name: unknown, known: readonly string[]): string | undefined {
  const nearest = typeof name === 'string' ? nearestName(name, known) : null;
  return nearest === null ? undefined : `did you mean ${nearest}?`;
}

/** An instance of one class. */
export function instanceOf<T>(
  expected: string,
  type: abstract new (...args: never[]) => T,
): ValueRule<T> {
  return valueRule(expected, (value): value is T => value instanceof type);
}

/** Accepts null and every value that the inner rule accepts. */
export function orNull<T>(inner: ValueRule<T>): ValueRule<T | null> {
  return {
    ...valueRule(
      `${inner.expected}, or null`,
      (value): value is T | null => value === null || inner.accepts(value),
    ),
    advise: (value) => inner.advise?.(value),
  };
}

/** Accepts the values that at least one of two rules accepts. */
export function eitherRule<A, B>(first: ValueRule<A>, second: ValueRule<B>): ValueRule<A | B> {
  return {
    ...valueRule(
      `${first.expected}, or ${second.expected}`,
      (value): value is A | B => first.accepts(value) || second.accepts(value),
    ),
    advise: (value) => first.advise?.(value) ?? second.advise?.(value),
  };
}

/**
 * Refuses an argument that its rule does not accept.
 *
 * @throws ArgumentError that names `op` and the argument.
 */
export function checkArgument<T>(
  op: string,
  name: string,
  value: unknown,
  accepted: ValueRule<T>,
): asserts value is T {
  if (accepted.accepts(value)) return;
  const advice = accepted.advise?.(value);
  throw new ArgumentError(`${name} is not acceptable`, {
    op,
    expected: accepted.expected,
    actual: describe(value),
    advice,
  });
}

/**
 * Refuses a value that is not an options object, options without a rule (suggesting the closest name that has
 * one) and values that their rule does not accept. An option that is `undefined` counts as absent.
 *
 * @param hidden Options that are accepted and not named in messages.
 * @throws ArgumentError that names `op` and the option.
 */
export function checkOptions<O extends object>(
  op: string,
  options: unknown,
  rules: OptionRules<O>,
  hidden: readonly (keyof O)[] = [],
): asserts options is O {
  const table = rules as Readonly<Record<string, ValueRule>>;
  const all = Object.keys(table);
  const known = all.filter((name) => !hidden.includes(name as keyof O));
  checkOptionNames(op, options, known, all);
  for (const name of all) {
    const value: unknown = (options as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) checkArgument(op, name, value, table[name]);
  }
}

/**
 * Refuses a value that is not an options object, and unknown options, suggesting the closest known name.
 *
 * @param accepted The names that are accepted: the known ones, and others that messages do not list.
 * @throws ArgumentError that names `op` and the option.
 */
export function checkOptionNames(
  op: string,
  options: unknown,
  known: readonly string[],
  accepted: readonly string[] = known,
): asserts options is object {
  if (!mayHoldOptions(options, accepted)) {
    throw new ArgumentError('the options are not an object', {
      op,
      expected: known.length === 0 ? 'no options' : `an object with ${known.join(', ')}`,
      actual: describe(options),
      ...(isDType(options) && known.includes('dtype') && { advice: `pass { dtype: '${options}' }` }), // prettier-ignore
    });
  }
  for (const name of Object.keys(options)) {
    if (!accepted.includes(name)) throw unknownName(op, 'option', name, known);
  }
}

/**
 * True for object literals and for instances of user classes that have one of the options. Arrays, blocks,
 * lists, maps and the like were meant for another argument.
 */
function mayHoldOptions(value: unknown, accepted: readonly string[]): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  if (Object.prototype.toString.call(value) !== '[object Object]') return false;
  return Object.keys(value).length > 0 || accepted.some((name) => name in value);
}

/** The error for an unknown option; it suggests the closest known name. */
export function unknownName(
  op: string,
  kind: string,
  name: string,
  known: readonly string[],
): ArgumentError {
  const nearest = nearestName(name, known);
  return new ArgumentError(`there is no ${kind} ${name}`, {
    op,
    expected: known.join(', ') || `no ${kind}s`,
    actual: name,
    ...(nearest !== null && { advice: `did you mean ${nearest}?` }),
  });
}

/**
 * The known name closest to a misspelled one; null when none is close. Case, `_` and `-` do not count, and at
 * most a third of the letters (two at least) may be wrong, missing or added. Otherwise a name that ends in
 * the same word will do (`bias` for `useBias`), one that starts with it (`eps` for `epsilon`), or one with
 * these initials (`lr` for `learningRate`).
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const given = name.slice(0, 64);
  const candidates = known.map((candidate) => [candidate, plain(candidate)] as const);
  const endings = known.map((candidate) => [candidate, plain(lastWord(candidate))] as const);
  return (
    nearestOf(plain(given), candidates) ??
    candidates.find(([, text]) => given.length >= 3 && text.startsWith(plain(given)))?.[0] ??
    known.find((candidate) => given.length >= 2 && initials(candidate) === plain(given)) ??
    nearestOf(plain(lastWord(given)), endings)
  );
}

/** The name with the smallest edit distance, if that is small enough. */
function nearestOf(
  wanted: string,
  candidates: readonly (readonly [name: string, text: string])[],
): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const [name, text] of candidates) {
    const distance = editDistance(wanted, text);
    if (distance >= bestDistance || distance >= text.length || distance >= wanted.length) continue;
    best = name;
    bestDistance = distance;
  }
  return best;
}

const plain = (word: string): string => word.replaceAll(/[_-]/g, '').toLowerCase();

/** The words of `camelCase`, `snake_case` and `kebab-case`. */
const wordsOf = (name: string): readonly string[] =>
  name.match(/[A-Z]?[^A-Z_-]+|[A-Z]+/g) ?? [name];

const lastWord = (name: string): string => wordsOf(name).at(-1)!;

const initials = (name: string): string => plain(wordsOf(name).map((word) => word[0]).join('')); // prettier-ignore

/** The Levenshtein distance, row by row. Source: Wagner and Fischer, JACM 1974. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
