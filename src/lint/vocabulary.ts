import * as creation from '../front/arrays/creation.js';
import type { ArrayMethods } from '../front/core/array-methods.js';
import type { NDArray } from '../front/core/ndarray.js';
import type * as random from '../front/arrays/random.js';
import type { DType } from '../base/dtype.js';
import type { Declaration } from '../ops/declare/declare.js';
import { registry } from '../ops/registry.js';

/** Members of `M` that are functions returning one array. */
type ArrayMakers<M> = {
  [K in keyof M & string]: M[K] extends (...args: never[]) => NDArray ? K : never;
}[keyof M & string];

// Both tables fail to compile when a name is missing or does not return an array.
const randomArrays: Readonly<Record<ArrayMakers<typeof random>, true>> = {
  normal: true,
  uniform: true,
  randint: true,
  bernoulli: true,
  categorical: true,
  permutation: true,
};

/** Methods of arrays beside the operators. */
const ownMethods: Readonly<
  Record<Exclude<ArrayMakers<NDArray>, keyof ArrayMethods<DType> | 'computed'>, true>
> = { astype: true, detach: true, to: true };

/** Every function of this module makes an array. */
const makers: Readonly<Record<keyof typeof creation, (...args: never[]) => NDArray>> = creation;

const operatorNames = (accept: (declaration: Declaration) => boolean): string[] =>
  [...registry.values()]
    .filter((declaration) => declaration.results === 'one' && accept(declaration))
    .map(({ name }) => name);

/** Functions that return one array, by their path from `kaon`: `add`, `random.normal`. */
export const arrayFunctions: ReadonlySet<string> = new Set([
  ...operatorNames(() => true),
  ...Object.keys(makers),
  ...Object.keys(randomArrays).map((name) => `random.${name}`),
]);

/** Methods of arrays that return one array. */
export const arrayMethods: ReadonlySet<string> = new Set([
  ...operatorNames(({ method }) => method),
  ...Object.keys(ownMethods),
]);
