import { graphDirective } from '../../base/directive.js';
import { TraceError } from '../../base/errors.js';
import * as operators from '../../ops/index.js';
import type { NDArray } from '../core/ndarray.js';
import { end } from './completion.js';
import { appendTo, installListMethods, made } from './lists/list-proxy.js';
import {
  isForeign,
  placeOfPush,
  replaceRows,
  rowAt,
  type RowList,
  rowsIn,
} from './lists/row-list.js';
import { countRows, flagsOf } from './lists/rows.js';
import { each } from './loops.js';
import { step } from './values/numbers.js';
import type { Rows } from './values/path.js';
import type { Variables } from './values/variables.js';

/* Methods of lists that collect rows: those with callbacks are loops over the rows, the others choose among them. */

type Callback = (...values: readonly unknown[]) => unknown;

/** A list with the proxy that the user's code has. */
interface Subject {
  readonly list: RowList;
  readonly proxy: object;
}

type Method = (subject: Subject, ...values: never[]) => unknown;

/** Loops of the user's have smaller numbers. */
const ownLoop = 1 << 20;

/**
 * Runs code for each row, in order. `indexed`: it is given the index. `carried` is a variable that it changes besides
 * those that the runtime is told of.
 */
function forRows(
  { list, proxy }: Subject,
  run: (row: unknown, index: unknown) => void,
  indexed: boolean,
  carried?: Variables,
): void {
  let index: unknown = 0;
  const counter: Variables = {
    merged: [{ name: 'the index', isInteger: true, isTree: false }],
    get: () => [index],
    set: ([value]) => (index = value),
  };
  const all = [...(indexed ? [counter] : []), ...(carried === undefined ? [] : [carried])];
  const variables: Variables = {
    merged: all.flatMap(({ merged }) => merged),
    get: () => all.flatMap(({ get }) => get()),
    set: (values) => all.forEach(({ set }, k) => set([values[k]])),
  };
  each(
    list.site ?? '',
    ownLoop,
    proxy,
    (row, next) => {
      run(row, index);
      if (indexed) index = step(index, 1);
      return end(next);
    },
    all.length === 0 ? undefined : variables,
  );
}

/** A new list for results of a method. */
function resultOf({ list }: Subject, method: string): unknown[] {
  return made([], `${list.name}.${method}()`) as unknown[];
}

/** Rows of which a condition on their indices and their number holds. */
function chosen(list: RowList, condition: (index: NDArray, count: NDArray) => NDArray): Rows {
  const all = rowsIn(list)!;
  const flags = flagsOf(all);
  const index = flags.astype('int32').cumsum(0).astype('int32').sub(1);
  return { rows: all.rows, flags: flags.logicalAnd(condition(index, countRows(all))) };
}

/** The index that an argument of `slice` means. */
function bound(value: unknown, count: NDArray): NDArray {
  const at = Math.trunc(Number(value)) || 0;
  return at < 0 ? operators.maximum<NDArray>(count.add(at), 0) : count.mul(0).add(at);
}

const methods: Readonly<Record<string, Method>> = {
  forEach(subject, callback: Callback) {
    forRows(subject, (row, index) => void callback(row, index, subject.proxy), callback.length > 1);
  },
  map(subject, callback: Callback) {
    const result = resultOf(subject, 'map');
    forRows(subject, (row, index) => void result.push(callback(row, index, subject.proxy)), callback.length > 1); // prettier-ignore
    return result;
  },
  reduce(subject, callback: Callback, ...initial: readonly unknown[]) {
    const { list } = subject;
    if (initial.length === 0) {
      throw new TraceError(`${list.name}.reduce has no value to start from`, {
        op: graphDirective,
        expected: 'an initial value, since the data may leave the list empty',
        actual: 'a callback only',
        advice: `${list.name}.reduce(callback, initial)`,
        ...placeOfPush(list),
      });
    }
    let [sum] = initial;
    const carried: Variables = {
      merged: [{ name: `the value of ${list.name}.reduce`, isInteger: false, isTree: false }],
      get: () => [sum],
      set: ([value]) => (sum = value),
    };
    const run = (row: unknown, index: unknown): void => {
      sum = callback(sum, row, index, subject.proxy);
    };
    forRows(subject, run, callback.length > 2, carried);
    return sum;
  },
  concat(subject, ...others: readonly unknown[]) {
    const result = resultOf(subject, 'concat');
    for (const each of [subject.proxy, ...others]) appendTo(result, Array.isArray(each) ? each : [each]); // prettier-ignore
    return result;
  },
  slice(subject, from: unknown = 0, to?: unknown) {
    const result = resultOf(subject, 'slice');
    appendTo(result, subject.proxy as unknown[]);
    replaceRows(result, (list) =>
      chosen(list, (index, count) => {
        const isAfter = index.greaterEqual(bound(from, count));
        return to === undefined ? isAfter : isAfter.logicalAnd(index.less(bound(to, count)));
      }),
    );
    return result;
  },
  toReversed(subject) {
    const result = resultOf(subject, 'toReversed');
    appendTo(result, subject.proxy as unknown[]);
    replaceRows(result, reversed);
    return result;
  },
};

/** Methods that change the list, where no array decides if they do. */
const mutators: Readonly<Record<string, Method>> = {
  pop({ list, proxy }) {
    const last = rowAt(list, -1);
    replaceRows(proxy, () => chosen(list, (index, count) => index.less(count.sub(1))));
    return last;
  },
  reverse({ proxy }) {
    replaceRows(proxy, reversed);
    return proxy;
  },
};

function reversed(list: RowList): Rows {
  const { rows, flags } = rowsIn(list)!;
  const turned = operators.flip<NDArray>(rows, 0);
  return { rows: turned, flags: flags === null ? null : operators.flip<NDArray>(flags, 0) };
}

installListMethods((list, proxy, key) => {
  const method = methods[key] ?? (isForeign(list) ? undefined : mutators[key]);
  if (method === undefined) return undefined;
  return (...values: never[]) => method({ list, proxy }, ...values);
});

/**
 * A list literal with spreads: functions that give its entries, and lists of one function for those that are spread.
 * Lists that collect rows are joined as such.
 */
export function spread(
  name: string,
  ...parts: readonly ((() => readonly unknown[]) | readonly [() => Iterable<unknown>])[]
): unknown[] {
  const result = made([], name) as unknown[];
  for (const part of parts) appendTo(result, typeof part === 'function' ? part() : part[0]());
  return result;
}
