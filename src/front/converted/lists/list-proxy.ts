import { graphDirective } from '../../../base/directive.js';
import { mulDim } from '../../../base/dim/index.js';
import { ShapeError, TraceError } from '../../../base/errors.js';
import * as operators from '../../../ops/index.js';
import { installListJoin } from '../../../ops/movement/list-join.js';
import { mode } from '../../core/mode.js';
import { NDArray } from '../../core/ndarray.js';
import { collectRows, noteList } from '../values/containers.js';
import { changingHost } from '../values/host-changes.js';
import { undecidable } from '../values/host.js';
import { refuseChanged } from '../values/shared-objects.js';
import { asNumber, hostOnly, isNumberArray } from '../values/numbers.js';
import { held } from '../values/optionals.js';
import {
  currentPath,
  isDecided,
  logChange,
  logPush,
  noteMaker,
  outermost,
  type TracedPath,
} from '../values/path.js';
import {
  addRows,
  collectsRows,
  countIn,
  isForeign,
  noteRowList,
  noteUse,
  placeOfPush,
  rowAt,
  type RowList,
  rowListOf,
  rowsIn,
  asRow,
  shownRow,
  stackedRows,
} from './row-list.js';

/*
 * Lists, maps and sets that captured code changes. A list to which a path or loop pushes that a captured array
 * decides about collects rows: it can be stacked and indexed, and its length is an array.
 */

/** Notes where an object was made; a plain list may collect rows. `name`: as the source calls it. */
export function made(value: object, name: string): object {
  const home = currentPath();
  const isPlain = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  const kept = isPlain && mode.capture !== null ? proxyOf(value, name, home) : value;
  noteMaker(kept);
  return kept;
}

/** The receiver of a method that may change it. `isUsed`: the result of the method is used. */
export function collection(object: unknown, site: string, isUsed: boolean = false): unknown {
  const list = rowListOf(object);
  if (list !== undefined) {
    list.site = site;
    list.isLengthUsed = isUsed;
  } else changingHost(object, site);
  return object;
}

/** `object[key]`, where the key may be a number that is an array: the index of a list that collects rows. */
export function entry(given: unknown, index: unknown, site: string): unknown {
  const [object, key] = [held(given, site), held(index, site)];
  const list = rowListOf(object);
  if (list !== undefined && isNumberArray(key) && key.dtype === 'int32') {
    // The loop that has made an array of the number may push to a list that does not collect rows yet.
    if (collectsRows(list) || holdsArrays(list)) return rowAt(list, key);
    noteUse(list, 'rows');
  }
  return (object as Record<PropertyKey, unknown>)[hostOnly(key, site) as PropertyKey];
}

/** True if all entries of a list are arrays or numbers, and there are some. */
function holdsArrays({ entries }: RowList): boolean {
  const isRow = (value: unknown): boolean => typeof value === 'number' || value instanceof NDArray;
  return entries.length > 0 && entries.every(isRow);
}

/** `list[list.length - offset]`: one of the last entries. */
export function fromEnd(
  object: unknown,
  offset: number,
  key: () => unknown,
  site: string,
): unknown {
  const list = rowListOf(object);
  if (list === undefined) return entry(object, key(), site);
  return entryFromEnd(list, object as readonly unknown[], -offset);
}

function entryFromEnd(list: RowList, proxy: readonly unknown[], index: number): unknown {
  if (collectsRows(list)) return rowAt(list, index);
  noteUse(list, index === -1 ? 'last' : 'rows');
  return Reflect.get(list.entries, list.entries.length + index, proxy);
}

/** The values of a `for...of`: the rows of a list that collects them. `shown` makes numbers of those that are. */
export function rowsOfList(
  value: unknown,
): { readonly rows: NDArray; readonly shown: (row: NDArray) => unknown } | null {
  const list = rowListOf(value);
  if (list === undefined || !collectsRows(list)) return null;
  return { rows: stackedRows(list), shown: (row) => shownRow(list, row) };
}

function proxyOf(entries: unknown[], name: string, home: TracedPath): object {
  const list: RowList = {
    name,
    home,
    capture: outermost(mode.capture),
    entries,
    rows: [],
    dtypes: new Set(),
    holdsNumbers: true,
    site: null,
    isLengthUsed: false,
  };
  const proxy: unknown[] = new Proxy(entries, {
    get: (target, key, receiver) => {
      if (typeof key === 'string') refuseChanged(target, list.name);
      if (key === 'push') return pushTo(list, proxy);
      if (isMutator(key)) logChange(list, null);
      if (isMutator(key) && isForeign(list)) {
        noteUse(list, 'rows');
        throw undecidable('a change of a list, map or set', list.site ?? '', changeAdvice);
      }
      if (key === 'at') return (index: unknown) => at(list, proxy, index);
      if (collectsRows(list)) return readRows(list, target, key, receiver);
      if (!isKnownEntry(list, key)) noteUse(list, key === 'length' ? 'count' : 'rows');
      return Reflect.get(target, key, receiver);
    },
    ...refusals(list),
  });
  noteMaker(list);
  noteRowList(proxy, list);
  noteList(proxy, entries);
  return proxy;
}

/** Gives a method of a list that collects rows; undefined for what is none, or cannot be one. */
type ListMethods = (list: RowList, proxy: object, key: string) => unknown;

let methodOf: ListMethods = () => undefined;

/** Installs the methods of lists that collect rows: some are loops, which are above of lists. */
export function installListMethods(methods: ListMethods): void {
  methodOf = methods;
}

/** Adds entries to a list, or the rows of one that collects them. */
export function appendTo(proxy: unknown[], values: Iterable<unknown>): void {
  const source = rowListOf(values);
  const list = rowListOf(proxy);
  if (source === undefined || list === undefined || !collectsRows(source)) {
    for (const value of values) proxy.push(value);
    return;
  }
  const rows = rowsIn(source);
  collectRows(proxy);
  for (const dtype of source.dtypes) list.dtypes.add(dtype);
  list.holdsNumbers &&= source.holdsNumbers;
  list.site ??= source.site;
  if (rows !== null) addRows(list, rows);
}

/** A member of a list that collects rows. */
function readRows(list: RowList, target: unknown[], key: PropertyKey, receiver: unknown): unknown {
  const method = typeof key === 'string' ? methodOf(list, receiver as object, key) : undefined;
  if (method !== undefined) return method;
  if (key === 'length') return asNumber(countIn(list));
  if (isIndex(key)) return rowAt(list, Number(key));
  if (!isHarmless(key)) throw usedAsList(list, key);
  return Reflect.get(target, key, receiver);
}

/** The method `at` of a list. */
function at(list: RowList, proxy: readonly unknown[], index: unknown): unknown {
  if (isNumberArray(index)) return entry(proxy, index, list.site ?? '');
  const place = Math.trunc(Number(index)) || 0;
  if (place < 0) return entryFromEnd(list, proxy, place);
  return proxy[place];
}

/** True for the index of an entry from before the first rows, which pushes do not change. */
function isKnownEntry({ entries }: RowList, key: PropertyKey): boolean {
  return isHarmless(key) || (isIndex(key) && Number(key) < entries.length);
}

function isIndex(key: PropertyKey): boolean {
  return typeof key === 'string' && /^(0|[1-9]\d*)$/.test(key);
}

/** Traps for what cannot be known of a list that collects rows. */
function refusals(list: RowList): ProxyHandler<unknown[]> {
  const refuse = (key: PropertyKey): void => {
    noteUse(list, 'rows');
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

const changeAdvice =
  'keep rows that come and go in an array of fixed size, written by updateSlice, and their number in a variable';

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
    expected: `kn.stack(${name}), kn.concat(${name}), ${name}.length, ${name}[i], for (const row of ${name}), ${name}.push(row), ...${name} in a list, map, forEach, reduce, concat, slice`,
    actual: useOf(name, key),
    advice:
      key === 'filter'
        ? `push what is kept to a list of its own: for (const row of ${name}) if (test) kept.push(row)`
        : `stack it first, const rows = kn.stack(${name}), and use rows`,
    ...placeOfPush(list),
  });
}

function useOf(name: string, key: PropertyKey): string {
  if (key === 'then' || key === 'toJSON') return 'the list itself, as a result';
  if (key === Symbol.iterator) return `its entries one by one, as in ...${name}`;
  return isIndex(key) ? `${name}[${String(key)}]` : `${name}.${String(key)}`;
}

/** The method `push` of a list. */
function pushTo(list: RowList, proxy: object): (...values: readonly unknown[]) => unknown {
  const isUsed = list.isLengthUsed;
  list.isLengthUsed = false;
  return (...values) => {
    if (isDecided() && outermost(mode.capture) !== list.capture) {
      throw undecidable('a change of a list, map or set', list.site ?? '');
    }
    logPush(list);
    const isPlain = !isForeign(list) && list.rows.length === 0;
    if (isPlain) return list.entries.push(...values);
    collectRows(proxy);
    for (const value of values) addRows(list, asRow(list, value));
    return isUsed ? asNumber(countIn(list)) : undefined;
  };
}

installListJoin((given, place, axis) => {
  const list = rowListOf(given);
  if (list === undefined) return undefined;
  noteUse(list, 'rows');
  if (!collectsRows(list)) return undefined;
  const rows = stackedRows(list);
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
