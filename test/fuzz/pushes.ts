import * as kn from '../../src/index.js';
import { converted } from '../source/convert.js';
import type { Given } from './control.js';

/*
 * A loop over rows that pushes to lists, as plain control flow says it: a value of each iteration to a list that has a
 * row before the loop, if a truth value of that iteration holds, and the truth values to another list.
 */

type Arrays = readonly kn.NDArray[];

/** One iteration: its value and its truth value, then the new states. */
export type Iterate = (row: kn.NDArray, states: Arrays) => Given;

interface Pushing {
  readonly data: kn.NDArray;
  readonly states: Arrays;
  /** The row that the list has before the loop. */
  readonly first: kn.NDArray;
  /** Push each row of the value in place of the value itself. */
  readonly isEach: boolean;
  readonly iterate: Iterate;
}

const code = (push: string): string => `
function main(data, before, first, iterate, stack) {
  'use graph';
  const rows = [first];
  const flags = [];
  let states = before;
  for (const row of data) {
    const given = iterate(row, states);
    const [value, flag] = given.outputs;
    states = given.states;
    flags.push(flag);
    if (flag) ${push}
  }
  return [stack(rows), stack(flags), ...states];
}`;

type Main = (
  data: kn.NDArray,
  before: Arrays,
  first: kn.NDArray,
  iterate: Iterate,
  stack: (rows: Arrays) => kn.NDArray,
) => Arrays;

const mains: Map<boolean, Main> = new Map();

/** The converted loop. Programs without one convert nothing. */
function mainFor(isEach: boolean): Main {
  const known = mains.get(isEach);
  if (known !== undefined) return known;
  const push = isEach ? 'for (const each of value) rows.push(each);' : 'rows.push(value);';
  // The code says what it takes.
  const main = converted(code(push)) as unknown as Main;
  mains.set(isEach, main);
  return main;
}

/** The rows, the truth values, and the last states, by converted code. */
export function pushAsConverted({ data, states, first, isEach, iterate }: Pushing): Arrays {
  // A flag of several axes would be no flag.
  const once: Iterate = (row, before) => {
    const { outputs, states: after } = iterate(row, before);
    return { outputs: [outputs[0], outputs[1].reshape([])], states: after };
  };
  return mainFor(isEach)(data, states, first, once, (rows) => kn.stack(rows));
}

/** The same as users would write it without lists of rows. */
export function pushByHand({ data, states: before, first, isEach, iterate }: Pushing): Arrays {
  const parts = [first.expandDims(0)];
  const flags: kn.NDArray[] = [];
  let states = before;
  for (let i = 0; i < data.shape[0]; i++) {
    const given = iterate(data.slice(i), states);
    const [value, flag] = given.outputs;
    states = given.states;
    flags.push(flag.reshape([]));
    if (flag.item() === true) parts.push(isEach ? value : value.expandDims(0));
  }
  return [kn.concat(parts), kn.stack(flags), ...states];
}
