import * as kn from '../../../src/index.js';
import { converted } from '../../source/convert.js';
import { library } from './library.js';
import { plain, type Plain } from './plain.js';

/*
 * Runs the text of a program with the library, or with plain lists of numbers.
 */

export type Arrays = readonly kn.NDArray[];
/** What a text defines: a function to one number, or to arrays. */
export type Main<A> = (...args: readonly A[]) => A;

/** Pushes rows to a list that has one, as users write it. */
const pushing = (push: string): string => `
function main(step, data, before, first, stack) {
  'use graph';
  const rows = [first];
  let state = before;
  for (const row of data) {
    const [value, flag, next] = step(row, state);
    state = next;
    if (flag) ${push}
  }
  return [stack(rows), state];
}`;

const pushEach = converted(pushing('for (const each of value) rows.push(each);'));
const pushOne = converted(pushing('rows.push(value);'));

/** The library, with a loop that pushes rows to a list as converted code does. */
export const functions: object = {
  ...kn,
  detach: (x: kn.NDArray) => x.detach(),
  push: (step: never, data: never, before: never, first: never, isEach: boolean) =>
    (isEach ? pushEach : pushOne)(step, data, before, first, kn.stack as never),
};

/** The function `main` of a text. */
export function mainOf<A>(text: string, given: object, more: object = {}): Main<A> {
  // Random programs are put together while tests run.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  const make = new Function('kn', ...Object.keys(more), `'use strict';\n${text}\nreturn main;`) as (...all: unknown[]) => Main<A>; // prettier-ignore
  return make(given, ...Object.values(more));
}

export function plainMain(text: string): Main<Plain> {
  return mainOf<Plain>(text, library);
}

/** A plain array as one of the library. */
export function arrayOf({
  dtype,
  shape,
  data,
}: Omit<Plain, 'dtype'> & { readonly dtype: kn.DType }): kn.NDArray {
  return dtype === 'bool'
    ? kn.array(data.map((x) => x !== 0), { dtype }).reshape([...shape]) // prettier-ignore
    : kn.array(data as number[], { dtype: dtype as 'float64' }).reshape([...shape]);
}

export function numbersOf(array: kn.NDArray): number[] {
  return [...array.dataSync()].map(Number);
}

export function plainFloats(shape: readonly number[], random: () => number): Plain {
  const size = shape.reduce((a, b) => a * b, 1);
  return plain(
    'float64',
    shape,
    Array.from({ length: size }, () => random() * 1.6 - 0.8),
  );
}
