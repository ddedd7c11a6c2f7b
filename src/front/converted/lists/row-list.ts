import { graphDirective } from '../../../base/directive.js';
import type { DType } from '../../../base/dtype.js';
import { TraceError } from '../../../base/errors.js';
import { check } from '../../../ops/control/index.js';
import { array } from '../../arrays/creation.js';
import type { Capture } from '../../core/capture.js';
import { NDArray } from '../../core/ndarray.js';
import { placeOf } from '../values/host.js';
import { asNumber, isNumberArray } from '../values/numbers.js';
import { held } from '../values/optionals.js';
import {
  currentPath,
  type EarlierRows,
  isDecided,
  logPush,
  type Rows,
  type RowUse,
  type TracedPath,
} from '../values/path.js';
import type { Entry } from '../values/values.js';
import { countRows, joinRows, lastRow, maskRows, singleRow } from './rows.js';

/*
 * Lists that collect rows: a path that a captured array decides about pushes to them. What is known of their rows lies
 * with the path that made the list, with the loops between, and with the paths that have pushed since.
 */

/** A list that is made in captured code, behind the proxy that the user's code has. */
export interface RowList {
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
  /** True while all rows are numbers and booleans of the user's. */
  holdsNumbers: boolean;
  /** The place of the latest push. */
  site: string | null;
  /** True if the value of the call of `push` that is about to run is used. */
  isLengthUsed: boolean;
}

/** By their proxies. */
const rowLists = new WeakMap<object, RowList>();

export function noteRowList(proxy: object, list: RowList): void {
  rowLists.set(proxy, list);
}

/** The list behind a proxy; undefined for other values. */
export function rowListOf(value: unknown): RowList | undefined {
  return typeof value === 'object' && value !== null ? rowLists.get(value) : undefined;
}

/** True on a path that an array decides about, other than the one that made the list. */
export function isForeign({ home }: RowList): boolean {
  return currentPath() !== home && isDecided();
}

/** The paths from the current one to that which made a list, without it. */
function* pathsFrom({ home }: RowList): Iterable<TracedPath> {
  for (let path: TracedPath | null = currentPath(); path !== null && path !== home;) {
    yield path;
    path = path.around;
  }
}

/** True for a list that an array has decided to push to. */
export function collectsRows(list: RowList): boolean {
  return (
    list.rows.length > 0 ||
    [...pathsFrom(list)].some(({ pushed, earlier }) => pushed.has(list) || earlier.has(list))
  );
}

/** Notes that the code that runs now uses a list: iterations that push to it have to know the rows before them. */
export function noteUse(list: RowList, use: RowUse): void {
  const isEmpty = use !== 'count' && list.entries.length === 0 && !collectsRows(list);
  if (isEmpty && isForeign(list)) currentPath().readsNoRow = true;
  for (const { used } of pathsFrom(list)) {
    used.set(list, new Set([...(used.get(list) ?? []), use]));
  }
}

/** Rows since the start of the innermost iteration that knows those before it; all where there is none. */
function rowsSince(list: RowList): {
  readonly earlier: EarlierRows | null;
  readonly later: readonly Rows[];
} {
  let later: readonly Rows[] = [];
  for (const { pushed, earlier } of pathsFrom(list)) {
    later = [...(pushed.get(list) ?? []), ...later];
    const known = earlier.get(list);
    if (known !== undefined) return { earlier: known, later };
  }
  const before = list.entries.map((entry) => asRow(list, entry));
  return { earlier: null, later: [...before, ...list.rows, ...later] };
}

/** All rows of a list, in order; null where it can have none. */
export function rowsIn(list: RowList): Rows | null {
  noteUse(list, 'rows');
  const { earlier, later } = rowsSince(list);
  const all = earlier === null ? later : [earlier.rows(), ...later];
  return all.length === 0 ? null : joinRows(all);
}

/** Gives a list other rows, on the path that has made it. */
export function replaceRows(proxy: object, give: (list: RowList) => Rows): void {
  const list = rowLists.get(proxy)!;
  const rows = give(list);
  logPush(list);
  list.entries.length = 0;
  list.rows.splice(0, Infinity, rows);
}

/** The rows of a list along a first axis. */
export function stackedRows(list: RowList): NDArray {
  const rows = rowsIn(list);
  // A list collects rows from the first on.
  return maskRows(rows!);
}

/** The number of rows, as an int32 array of rank 0. */
export function countIn(list: RowList): NDArray {
  noteUse(list, 'count');
  const { earlier, later } = rowsSince(list);
  const counts = [
    ...(earlier === null ? [] : [earlier.count()]),
    ...(later.length === 0 ? [] : [countRows(joinRows(later))]),
  ];
  if (counts.length === 0) return array(0, { dtype: 'int32' });
  return counts.reduce((sum, count) => sum.add(count));
}

/** The last row; null where the list can have none. */
export function lastIn(list: RowList): NDArray | null {
  noteUse(list, 'last');
  const { earlier, later } = rowsSince(list);
  const before = earlier === null ? null : earlier.last();
  return later.length === 0 ? before : lastRow(before, joinRows(later));
}

/** True for a list that has a row, whatever the data is. */
export function isNeverEmpty(list: RowList): boolean {
  const { earlier, later } = rowsSince(list);
  return (
    earlier?.isNeverEmpty === true ||
    later.some(({ rows, flags }) => {
      const [count] = rows.type.shape;
      return flags === null && typeof count === 'number' && count > 0;
    })
  );
}

/**
 * One row of a list: `index` counts from 0, or from -1 back.
 * @throws CheckError when the graph runs, where the list has no such row.
 */
export function rowAt(list: RowList, index: number | NDArray): NDArray {
  const isKnown = typeof index === 'number';
  if (isKnown && index >= 0 && index < list.entries.length) {
    return shownRow(list, asRow(list, list.entries[index]).rows.slice(0));
  }
  const isLast = isKnown && index === -1;
  if (!isLast || !isNeverEmpty(list)) {
    const count = countIn(list);
    const isThere = isKnown
      ? count.greater(index < 0 ? -1 - index : index)
      : index.greaterEqual(0).logicalAnd(index.less(count));
    check(isThere, `${list.name} has no row ${isKnown ? index : 'of that index'}`);
  }
  if (isLast) {
    // The list collects rows, so some path pushes one.
    return shownRow(list, lastIn(list)!);
  }
  const place = isKnown && index < 0 ? countIn(list).add(index) : index;
  return shownRow(list, stackedRows(list).take(place, { axis: 0 }));
}

/** A row as the user's code has pushed it: numbers are numbers. */
export function shownRow(list: RowList, row: NDArray): NDArray {
  return list.holdsNumbers && row.type.shape.length === 0 ? asNumber(row) : row;
}

/** A value as a row of a list. */
export function asRow(list: RowList, given: unknown): Rows {
  const value = held(given);
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
  if (row === value && !isNumberArray(row)) list.holdsNumbers = false;
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

/** Adds rows to a list, as the path that runs now pushes them. */
export function addRows(list: RowList, rows: Rows): void {
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

/** Refuses variables that are given to what follows as new lists, without the rows that the path has pushed. */
export function checkEntries(entries: readonly Entry[], { pushed }: TracedPath): void {
  for (const { what, value } of entries) {
    const list = rowListOf(value);
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

/** The place of the latest push to a list, for errors. */
export function placeOfPush({ site }: RowList): { readonly source?: string } {
  return site === null ? {} : placeOf(site);
}
