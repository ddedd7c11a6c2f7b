import { boundsOf, isStatic, sameDim } from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import { argselect, argsort, cast, slice } from '../../../ops/index.js';
import { type SortAttributes, sortedAxis } from '../../../ops/indexing/order.js';
import { wideDType } from '../../../ops/loops.js';
import { longestRun } from '../sorting/bitonic.js';
import { mergedRuns, rankedRuns, sortedRuns } from '../sorting/runs.js';
import { shortRow } from '../sorting/sort.js';

/*
 * Sorts as positions of int32, which every GPU has, converted where they are given. Rows that do not fit into the memory
 * of a workgroup are runs that do, and then dispatches that merge two runs into one, until one is left. Equal elements
 * keep their order in every step. In rows whose length is not known each element looks for its rank among many
 * runs, and then among all.
 */

/** Runs of rows of unknown length that become one in the first of two steps. */
const fanIn = 64;

/** The positions that sort an array along an axis, int32. */
export function sortedPositions(x: Value, axis: number, descending: boolean): Value {
  const length = x.type.shape[axis];
  let run = longestRun(computeScalar(wideDType(x.type.dtype)));
  const { max: most } = boundsOf(length);
  if (isStatic(length) ? length <= run : most <= shortRow) {
    return sortedRuns(x, { axis, descending, run: null });
  }
  let positions = sortedRuns(x, { axis, descending, run: Math.min(run, most) });
  if (!isStatic(length)) {
    if (most <= run) return positions;
    const sort = { axis, descending };
    const isLong = most > run * fanIn;
    if (isLong) positions = rankedRuns(x, positions, { ...sort, run, together: fanIn });
    return rankedRuns(x, positions, { ...sort, run: isLong ? run * fanIn : run, together: null });
  }
  for (; run < length; run *= 2) positions = mergedRuns(x, positions, { axis, descending, run });
  return positions;
}

/** A sort; of a selection only the first positions are kept. */
function sortExpansion(operator: {
  readonly declaration: Operator;
}): readonly [Operator, DeviceExpansion] {
  const expansion: DeviceExpansion<SortAttributes> = ({
    attributes: { axis, descending },
    inputs: [x],
    outputTypes: [{ dtype, shape }],
  }) => {
    const along = sortedAxis(axis, shape.length);
    const positions = sortedPositions(x, along, descending);
    const before = Array.from({ length: along }, () => ':' as const);
    const isWhole = sameDim(shape[along], x.type.shape[along]);
    return [cast(isWhole ? positions : slice(positions, ...before, [0, shape[along]]), dtype)];
  };
  // An expansion is given the attributes of calls of its operator only.
  return [operator.declaration, expansion as DeviceExpansion<never> as DeviceExpansion];
}

/** The expansions of sorts. */
export const sortExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  argsort,
  argselect,
].map(sortExpansion);
