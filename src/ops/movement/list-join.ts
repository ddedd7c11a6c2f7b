import type { Tensor } from '../../ir/types.js';
import type { DefaultTensor, Input, OperatorFunction } from '../declare/declare.js';

/** Joins arrays of a list. */
export type Join = <T extends Tensor = DefaultTensor>(
  arrays: readonly Input<T>[],
  axis?: number,
) => T;

type Place = 'along an axis' | 'along a new axis';

/** Joins a list that stands for arrays whose number is unknown; undefined for other lists. */
type ListJoin = (list: object, place: Place, axis: number) => Tensor | undefined;

let listJoin: ListJoin = () => undefined;

/** Installs the join of lists that stand for arrays whose number is unknown. */
export function installListJoin(join: ListJoin): void {
  listJoin = join;
}

/** An operator that joins the arrays of a list, also of one that stands for arrays. */
export function joiningLists(place: Place, join: OperatorFunction<Join>): OperatorFunction<Join> {
  const { declaration } = join;
  const call: Join = <T extends Tensor>(arrays: readonly Input<T>[], axis: number = 0) =>
    // Such lists hold arrays of the caller's kind.
    (listJoin(arrays, place, axis) as T | undefined) ?? join<T>(arrays, axis);
  Object.defineProperty(call, 'name', { value: declaration.name });
  // The type says besides what the operator accepts of plain data, as that of `join` does.
  return Object.assign(call, { declaration }) as unknown as OperatorFunction<Join>;
}
