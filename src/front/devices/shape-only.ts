import { Storage } from '../../runtime/memory/storage.js';
import { type ArrayType, staticType } from '../core/array-type.js';
import { NDArray } from '../core/ndarray.js';

/** Computation of the first elements of an array. */
export interface Recipe {
  /** Seed and counter that its random draws start from; null where it draws nothing. */
  readonly stream: { readonly seed: bigint; readonly counter: bigint } | null;
  make(): NDArray;
}

const recipes = new WeakMap<NDArray, Recipe>();

/** An array without memory for its elements. Programs that read it can be captured, not run. */
export function shapeOnly(type: ArrayType, recipe: Recipe): NDArray {
  return withoutElements(new NDArray(type, null), recipe);
}

/** Takes the elements of an array away. */
export function withoutElements(array: NDArray, recipe: Recipe): NDArray {
  array.elements = Storage.absent(array.dtype, staticType(array.type)!.size);
  recipes.set(array, recipe);
  return array;
}

/** True for an array that has no elements, and is not lazy either. */
export function hasShapeOnly({ elements }: NDArray): boolean {
  return elements !== null && elements.isAbsent;
}

/** The recipe of an array without elements; undefined for others. */
export function recipeOf(array: NDArray): Recipe | undefined {
  return hasShapeOnly(array) ? recipes.get(array) : undefined;
}

/** Callbacks that wait for the elements of arrays of which only the shape is known. */
const waiting = new WeakMap<NDArray, (() => void)[]>();

/** Calls `act` once, when an array without elements is given some. */
export function whenFilled(array: NDArray, act: () => void): void {
  const acts = waiting.get(array);
  if (acts === undefined) waiting.set(array, [act]);
  else acts.push(act);
}

/** Tells that an array has its first elements. */
export function tellFilled(array: NDArray): void {
  const acts = waiting.get(array) ?? [];
  waiting.delete(array);
  for (const act of acts) act();
}
