import { boundsOf, type Dim } from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { countedPositions } from '../../../ops/dynamic/positions.js';
import { blockTotals, placedPositions, totalsBefore } from '../positions/blocks.js';

/*
 * Positions that the data selects, by prefix sums: totals of blocks, where each block begins, which is found in the same
 * way where there are many, and the positions. Few are found by one invocation. What is known of the number of elements
 * is a bound, where they have been selected themselves.
 */

/** Elements up to which one invocation goes through all of them. */
const few = 256;

/** Levels of prefix sums over elements of which nothing is known. */
const mostLevels = 3;

/** The sum of all before each of some totals. */
function allBefore(totals: Value, level: number): Value {
  if (most(totals.type.shape[0]) <= few || level === mostLevels) return totalsBefore(totals, null);
  return totalsBefore(totals, allBefore(blockTotals(totals), level + 1));
}

const most = (dim: Dim): number => boundsOf(dim).max;

const positionsExpansion: DeviceExpansion<{ readonly rows: Dim }> = ({
  inputs: [counts],
  attributes: { rows },
}) => {
  const [length] = counts.type.shape;
  if (most(length) <= few) return null;
  return [placedPositions(counts, allBefore(blockTotals(counts), 1), rows)];
};

/** True for positions that the data has selected: they ascend. */
export function areSelected({ program, node }: Value): boolean {
  const made = program.node(node);
  if (made.kind !== 'call') return false;
  return [countedPositions, placedPositions].some(({ declaration }) => declaration === made.op);
}

/** The expansions of positions. */
export const positionExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [countedPositions.declaration, positionsExpansion as DeviceExpansion<never> as DeviceExpansion],
];
