import { graphDirective } from '../../../base/directive.js';
import type { DType } from '../../../base/dtype.js';
import { ShapeError, TraceError } from '../../../base/errors.js';
import { mulDim } from '../../../base/dim/index.js';
import * as operators from '../../../ops/index.js';
import { installListJoin } from '../../../ops/movement/list-join.js';
import { array } from '../../arrays/creation.js';
import type { Capture } from '../../core/capture.js';
import { mode } from '../../core/mode.js';
import { NDArray } from '../../core/ndarray.js';
import { collectRows, noteList } from '../values/containers.js';
import { placeOf, undecidable } from '../values/host.js';
import { asNumber, isNumberArray } from '../values/numbers.js';
import {
  currentPath,
  isDecided,
  makerOf,
  noteMaker,
  outermost,
  type Rows,
  type TracedPath,
  undecided,
} from '../values/path.js';
import type { Entry } from '../values/values.js';
import { countRows, joinRows, maskRows, singleRow } from './rows.js';

/*
 * Lists, maps and sets that captured code changes. A list to which a path or loop pushes that a captured array
 * decides about collects rows: it can be stacked, and its length is an array.
 */

/** A list that is made in captured code, behind the proxy that the user's code has. */
interface RowList {
  readonly name: string;
  /** The path that made the list. */
  readonly home: TracedPath;
  /** The capture that made it: one of another function may not run for each call. */
  readonly capture: Capture | null;
  /** Entries from before the first rows that an array decided about. */
  readonly entries: unknown[];
  /** Rows from then on, as far as they are known on the path that made the list. */
  readonly rows: Rows[];
  /** Dtypes of the rows, and `number`. */
  readonly dtypes: Set<DType | 'number'>;
  /** The place of the latest push. */
  site: string | null;
  /** True if the value of the call of `push` that is about to run is used. */
  isLengthUsed: boolean;
}

/** By their proxies. */
const rowLists = new WeakMap<object, RowList>();

/** Notes where an object was made; a plain list may collect rows. `name`: as the source calls it. */
export function made(value: object, name: string): object {
  const home = currentPath();
  const isPlain = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  const kept = isPlain && mode.capture !== null ? rowListOf(value, name, home) : value;
  noteMaker(kept);
  return kept;
}

/** The receiver of a method that changes lists, maps and sets. `isUsed`: the result of the method is used. */
export function collection(object: unknown, site: string, isUsed: boolean = false): unknown {
  const list = typeof object === 'object' && object !== null ? rowLists.get(object) : undefined;
  if (list !== undefined) {
    list.site = site;
    list.isLengthUsed = isUsed;
    return object;
  }
  const isCollection =
    Array.isArray(object) ||
    object instanceof Map ||
    object instanceof Set ||
    ArrayBuffer.isView(object);
  if (isCollection && makerOf(object) !== currentPath())
    undecided(
      'a change of a list, map or set',
      site,
      'declare the list by itself, const list = [], or in an object, const state = { list: [] }; push rows to it, and use kn.stack(list) afterwards',
    );
  return object;
}

function rowListOf(entries: unknown[], name: string, home: TracedPath): object {
  const list: RowList = {
    name,
    home,
    capture: outermost(mode.capture),
    entries,
    rows: [],
    dtypes: new Set(),
    site: null,
    isLengthUsed: false,
  };
  const proxy: unknown[] = new Proxy(entries, {
    get: (target, key, receiver) => {
      if (key === 'push') return pushTo(list, proxy);
      noteRead(list);
      if (isMutator(key) && isForeign(list)) {
        throw undecidable('a change of a list, map or set', list.site ?? '');
      }
      if (collectsRows(list)) {
        if (key === 'length') return asNumber(countRows(rowsIn(list)));
        if (!isHarmless(key)) throw usedAsList(list, key);
      }
      return Reflect.get(target, key, receiver);
    },
    ...refusals(list),
  });
  rowLists.set(proxy, list);
  noteList(proxy, entries);
  return proxy;
}

/** Traps for what cannot be known of a list that collects rows. */
function refusals(list: RowList): ProxyHandler<unknown[]> {
  const refuse = (key: PropertyKey): void => {
    noteRead(list);
    if (collectsRows(list)) throw usedAsList(list, key);
  };
  return {
    set: (target, key, value, receiver) => {
      refuse(key);
      return Reflect.set(target, key, value, receiver);
    },
    defineProperty: (target, key, descriptor) => {
      refuse(key);
      return Reflect.defineProperty(target, key, descriptor);
    },
    deleteProperty: (target, key) => {
      refuse(key);
      return Reflect.deleteProperty(target, key);
    },
    has: (target, key) => {
      refuse(key);
      return Reflect.has(target, key);
    },
    ownKeys: (target) => {
      refuse('its keys');
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor: (target, key) => {
      refuse(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  };
}

const mutators: ReadonlySet<PropertyKey> = new Set(
  'pop shift unshift splice fill copyWithin sort reverse'.split(' '),
);

function isMutator(key: PropertyKey): boolean {
  return mutators.has(key);
}

/** True for a key whose value says nothing about the entries. */
function isHarmless(key: PropertyKey): boolean {
  if (typeof key === 'symbol') return key !== Symbol.iterator && key !== Symbol.isConcatSpreadable;
  return key === 'constructor';
}

function usedAsList(list: RowList, key: PropertyKey): TraceError {
  const { name } = list;
  return new TraceError(`captured code pushes to ${name}, whose entries are then unknown`, {
    op: graphDirective,
    expected: `kn.stack(${name}), kn.concat(${name}), ${name}.length or ${name}.push(row)`,
    actual: useOf(name, key),
    advice: `stack it first, const rows = kn.stack(${name}), and use rows.slice(i) or for (const row of rows)`,
    ...placeOfPush(list),
  });
}

function useOf(name: string, key: PropertyKey): string {
  if (key === Symbol.iterator) return `its entries one by one, as in for...of and ...${name}`;
  return /^\d+$/.test(String(key)) ? `${name}[${String(key)}]` : `${name}.${String(key)}`;
}

function placeOfPush({ site }: RowList): { readonly source?: string } {
  return site === null ? {} : placeOf(site);
}

/** True on a path that an array decides about, other than the one that made the list. */
function isForeign({ home }: RowList): boolean {
  return currentPath() !== home && isDecided();
}

/** The paths from the current one to that which made a list, without it. */
function* pathsFrom({ home }: RowList): Iterable<TracedPath> {
  for (let path: TracedPath | null = currentPath(); path !== null && path !== home;) {
    yield path;
    path = path.around;
  }
}

function collectsRows(list: RowList): boolean {
  return list.rows.length > 0 || [...pathsFrom(list)].some(({ pushed }) => pushed.has(list));
}

function noteRead(list: RowList): void {
  for (const { read } of pathsFrom(list)) read.add(list);
}

/** All rows of a list, in order. */
function rowsIn(list: RowList): Rows {
  const later = [...pathsFrom(list)].reverse().flatMap(({ pushed }) => pushed.get(list) ?? []);
  return joinRows([...list.entries.map((entry) => rowOf(list, entry)), ...list.rows, ...later]);
}

function rowOf(list: RowList, value: unknown): Rows {
  const row = typeof value === 'number' || typeof value === 'boolean' ? array(value) : value;
  if (!(row instanceof NDArray)) {
    throw new TraceError(`captured code pushes a value that is no array to ${list.name}`, {
      op: graphDirective,
      expected: 'an array or a number',
      actual: typeof value,
      advice: 'push arrays of one shape, and collect other values outside of what arrays decide',
      ...placeOfPush(list),
    });
  }
  const isNumber: boolean = (row !== value || isNumberArray(row)) && row.dtype !== 'bool';
  list.dtypes.add(isNumber ? 'number' : row.dtype);
  checkNumbers(list);
  // Numbers alone are stacked as float32, also where arrays of int32 stand for them.
  return singleRow(isNumber ? row.astype('float32') : row);
}

/** Dtypes that promotion takes from arrays of float32 as it takes them from numbers. */
const besideNumbers: ReadonlySet<string> = new Set(['number', 'bool', 'float32', 'float64']);

/** Refuses numbers among arrays whose dtype they would take on, since each is an array of its own. */
function checkNumbers(list: RowList): void {
  const { dtypes } = list;
  const other = [...dtypes].find((dtype) => !besideNumbers.has(dtype));
  if (other === undefined || !dtypes.has('number')) return;
  throw new TraceError(`captured code pushes numbers and arrays of another dtype to ${list.name}`, {
    op: graphDirective,
    expected: 'numbers, or arrays of one dtype',
    actual: `numbers and ${other}`,
    advice: `push kn.array(number, { dtype: '${other}' })`,
    ...placeOfPush(list),
  });
}

/** The method `push` of a list. */
function pushTo(list: RowList, proxy: object): (...values: readonly unknown[]) => unknown {
  const isUsed = list.isLengthUsed;
  list.isLengthUsed = false;
  return (...values) => {
    if (isDecided() && outermost(mode.capture) !== list.capture) {
      throw undecidable('a change of a list, map or set', list.site ?? '');
    }
    const isPlain = !isForeign(list) && list.rows.length === 0;
    if (isPlain) return list.entries.push(...values);
    collectRows(proxy);
    for (const value of values) addRows(list, rowOf(list, value));
    if (!isUsed) return undefined;
    noteRead(list);
    return asNumber(countRows(rowsIn(list)));
  };
}

function addRows(list: RowList, rows: Rows): void {
  if (!isForeign(list)) list.rows.push(rows);
  else {
    const { pushed } = currentPath();
    pushed.set(list, [...(pushed.get(list) ?? []), rows]);
  }
}

/** Adds the rows that paths have pushed to their lists, on the path around. */
export function addPushed(pushed: Iterable<readonly [list: object, rows: Rows]>): void {
  // Only lists of rows are keys of what a path has pushed.
  for (const [list, rows] of pushed) addRows(list as RowList, rows);
}

/**
 * Refuses an iteration that reads a list to which it pushes, since the rows of those before it are unknown, and one
 * whose data decides how many rows it has to give.
 */
export function checkIteration({ pushed, read }: TracedPath): void {
  for (const list of pushed.keys()) {
    if (read.has(list)) {
      const pushedTo = list as RowList; // Only lists of rows are keys.
      throw new TraceError(`a captured loop reads ${pushedTo.name}, to which it pushes`, {
        op: graphDirective,
        expected: 'uses of the list after the loop',
        actual: 'a use by an iteration, which does not know the rows of those before it',
        advice:
          'leave the loop by break and use the list after it, or keep what an iteration needs in variables: the latest row, a count',
        ...placeOfPush(pushedTo),
      });
    }
  }
}

/** Refuses variables that are given to what follows as new lists, without the rows that the path has pushed. */
export function checkEntries(entries: readonly Entry[], { pushed }: TracedPath): void {
  for (const { what, value } of entries) {
    const list = typeof value === 'object' && value !== null ? rowLists.get(value) : undefined;
    if (list === undefined || !pushed.has(list)) continue;
    throw new TraceError(`captured code pushes to ${what}, and assigns it or its entries`, {
      op: graphDirective,
      expected: 'a list that stays the same one',
      actual: 'an assignment that a captured array decides about',
      advice: 'declare it by const, and a list for the other rows',
      ...placeOfPush(list),
    });
  }
}

installListJoin((given, place, axis) => {
  const list = rowLists.get(given);
  if (list === undefined) return undefined;
  noteRead(list);
  if (!collectsRows(list)) return undefined;
  const rows = maskRows(rowsIn(list));
  if (place === 'along a new axis')
    return axis === 0 ? rows : operators.moveaxis<NDArray>(rows, 0, axis);
  const { shape } = rows.type;
  const at = axis < 0 ? axis + shape.length - 1 : axis;
  if (at >= 0 && at < shape.length - 1) {
    const [count, ...own] = shape;
    const joined = own.map((size, i) => (i === at ? mulDim(count, size) : size));
    return operators.moveaxis<NDArray>(rows, 0, at).reshape(joined);
  }
  throw new ShapeError(`arrays that captured code pushes to ${list.name} have no such axis`, {
    op: graphDirective,
    expected: 'an axis of the arrays',
    actual: `axis ${axis} of arrays of rank ${shape.length - 1}`,
    ...placeOfPush(list),
  });
});
