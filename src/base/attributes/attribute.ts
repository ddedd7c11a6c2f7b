/** The kinds of attribute an operator may have; import as a namespace. */
import { type Dim, DimExpr, parseDim } from '../dim/index.js';
import { type DType, dtypes, isDType } from '../dtype.js';
import { ArgumentError } from '../errors.js';

/** A value that JSON can represent. */
export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A check of one value, with the text of errors. */
export interface ValueRule<T = unknown> {
  /** Accepted values in words, for `expected` of an error. */
  readonly expected: string;
  accepts(value: unknown): value is T;
  /** Advice for a refused value; undefined when there is none. */
  advise?(value: unknown): string | undefined;
}

/** One attribute of an operator: how it is checked, and how it travels through text and JSON. */
export interface Attribute<T> extends ValueRule<T> {
  /** Injective: two values that differ have different JSON. */
  encode(value: T): Json;
  decode(json: Json): T;
  /** The value with every dimension in it replaced; absent where a value holds none. */
  mapDims?(value: T, map: (dim: Dim) => Dim): T;
  /** True where the value is told in errors and changes nothing else. */
  readonly isMessage?: boolean;
  /** The value that text and JSON leave out. Default none. */
  readonly absent?: T;
}

const plain = <T extends Json>(
  expected: string,
  accepts: (value: unknown) => value is T,
): Attribute<T> => ({
  expected,
  accepts,
  encode: (value) => value,
  decode: (json) => {
    if (!accepts(json)) throw unexpected(expected, json);
    return json;
  },
});

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isDim = (value: unknown): value is Dim => isInteger(value) || value instanceof DimExpr;

/** An integer. */
export const int: Attribute<number> = plain('an integer', isInteger);
/** A list of integers. */
export const ints: Attribute<readonly number[]> = list(int);
export const bool: Attribute<boolean> = plain(
  'true or false',
  (value): value is boolean => typeof value === 'boolean',
);
export const string: Attribute<string> = plain(
  'a string',
  (value): value is string => typeof value === 'string',
);
export const dtype: Attribute<DType> = plain(`one of ${dtypes.join(', ')}`, isDType);

const unspeakable = ['NaN', 'Infinity', '-Infinity', '-0'];

/** Any JavaScript number; the ones that JSON lacks travel as strings. */
export const number: Attribute<number> = {
  expected: 'a number',
  accepts: (value): value is number => typeof value === 'number',
  encode: (value) => {
    if (Object.is(value, -0)) return '-0';
    return Number.isFinite(value) ? value : String(value);
  },
  decode: (json) => {
    if (typeof json === 'number') return json;
    if (typeof json === 'string' && unspeakable.includes(json)) return Number(json);
    throw unexpected('a number', json);
  },
};

/** A static or symbolic extent. */
export const dim: Attribute<Dim> = {
  expected: 'an integer or a symbolic dimension',
  accepts: isDim,
  encode: (value) => (typeof value === 'number' ? value : String(value)),
  decode: (json) => {
    if (typeof json === 'string') return parseDim(json);
    if (isInteger(json)) return json;
    throw unexpected('a dimension', json);
  },
  mapDims: (value, map) => map(value),
};

/** A list of extents. */
export const dims: Attribute<readonly Dim[]> = list(dim);

/** Pairs of a place and an axis, one after the other; texts and files leave an empty list out. */
export const extentPairs: Attribute<readonly number[]> = { ...ints, absent: [] };

/** The number of leading rows of a loop's body that its results join in place of stacking them. */
export const joinedRows: Attribute<number> = { ...int, absent: 0 };

/** The sizes that a call passes to its regions, for their size parameters. */
export const passedSizes: Attribute<readonly Dim[]> = { ...dims, absent: [] };

export function oneOf<const T extends string>(...options: readonly T[]): Attribute<T> {
  return plain(`one of ${options.join(', ')}`, (value): value is T => options.includes(value as T));
}

export function optional<T>(inner: Attribute<T>): Attribute<T | null> {
  return {
    expected: `${inner.expected}, or null`,
    accepts: (value): value is T | null => value === null || inner.accepts(value),
    encode: (value) => (value === null ? null : inner.encode(value)),
    decode: (json) => (json === null ? null : inner.decode(json)),
    ...(inner.mapDims && {
      mapDims: (value, map) => (value === null ? null : inner.mapDims!(value, map)),
    }),
  };
}

export function list<T>(inner: Attribute<T>): Attribute<readonly T[]> {
  const expected = `a list, each entry ${inner.expected}`;
  return {
    expected,
    accepts: (value): value is readonly T[] => Array.isArray(value) && holdsAll(value, inner),
    encode: (value) => value.map((entry) => inner.encode(entry)),
    decode: (json) => {
      if (!Array.isArray(json)) throw unexpected(expected, json);
      return json.map((entry: Json) => inner.decode(entry));
    },
    ...(inner.mapDims && {
      mapDims: (value, map) => value.map((entry) => inner.mapDims!(entry, map)),
    }),
  };
}

/** A loop over indices: `every` skips holes. */
function holdsAll<T>(list: readonly unknown[], { accepts }: Attribute<T>): list is readonly T[] {
  for (let i = 0; i < list.length; i++) if (!accepts(list[i])) return false;
  return true;
}

function unexpected(expected: string, json: Json): ArgumentError {
  return new ArgumentError('an attribute has the wrong form', {
    expected,
    actual: describe(json),
  });
}

/** Characters of a string and keys of an object that a description shows at most. */
const mostCharacters = 100;
const mostKeys = 6;

/**
 * A short text for any value a user may have passed, whatever it is: lists are shown three levels deep,
 * plain objects by their keys, everything else by its class.
 */
export function describe(value: unknown): string {
  try {
    return describeTo(3, value);
  } catch {
    // Looking at the object ran a getter or a proxy trap, which threw.
    return 'an object that cannot be looked at';
  }
}

function describeTo(depth: number, value: unknown): string {
  if (typeof value === 'string') return describeString(value);
  if (typeof value === 'function') return describeFunction(value);
  if (Array.isArray(value)) {
    if (depth === 0) return '[...]';
    const entries = value.slice(0, 8).map((entry) => describeTo(depth - 1, entry));
    return `[${entries.join(', ')}${value.length > 8 ? ', ...' : ''}]`;
  }
  if (typeof value === 'bigint') return `${clipped(String(value))}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'object' && value !== null) return describeObject(value);
  return clipped(String(value));
}

function describeString(value: string): string {
  if (value.length <= mostCharacters) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, mostCharacters))}..., a string of ${value.length}`;
}

function describeFunction(value: { readonly name: unknown }): string {
  const { name } = value;
  return `function ${typeof name === 'string' && name !== '' ? clipped(name) : '(anonymous)'}`;
}

const descriptions = new WeakMap<object, string>();

/** Has errors describe an object by what it is to the user rather than by its class. */
export function describeAs(value: object, description: string): void {
  descriptions.set(value, description);
}

/** An object by its class; one of no class of its own by its keys. */
function describeObject(value: object): string {
  const description = descriptions.get(value);
  if (description !== undefined) return description;
  if (value instanceof DimExpr) return String(value);
  const kind = kindOfObject(value);
  if (kind !== 'Object' && kind !== 'object') return withArticle(kind);
  const keys = Object.keys(value);
  if (keys.length === 0) return 'an empty object';
  const shown = keys.slice(0, mostKeys).map(clipped).join(', ');
  return `an object with ${shown}${keys.length > mostKeys ? ', ...' : ''}`;
}

/** The class of an object, which may be foreign: without a prototype, or with a `constructor` of its own. */
function kindOfObject(value: object): string {
  const maker: unknown = value.constructor;
  if (typeof maker !== 'function') return 'object';
  const name: unknown = maker.name;
  return typeof name === 'string' && name !== '' ? clipped(name) : 'object';
}

function clipped(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}...`;
}

/** The kind with its indefinite article: an array, an NDArray. */
function withArticle(kind: string): string {
  return `${/^([aeio]|ND)/i.test(kind) ? 'an' : 'a'} ${kind}`;
}
