import type { FoldExtents } from '../../../ops/nests/schedule.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { workgroupLimits } from '../../../loop/language/verify-workgroups.js';

/** Division of the invocations of a workgroup: so many results, each folded by so many `partials`. Powers of two. */
export interface GroupShape {
  readonly results: number;
  readonly partials: number;
  /** Neighbors that an invocation takes in one step. */
  readonly together: 1 | 4;
  /** True where neighboring invocations fold one result, as neighboring elements are of one. */
  readonly isRow: boolean;
}

/** Elements of one result from which on so many invocations fold it, where its elements are neighbors. */
const partialsOfRows: readonly (readonly [length: number, partials: number])[] = [
  [1024, 256],
  [256, 64],
  [64, 16],
];

/** The same where neighboring elements are of neighboring results, and there are few results. */
const partialsOfColumns: typeof partialsOfRows = [
  [1024, 16],
  [64, 8],
];

/** Invocations that certainly fill a GPU: with so many results each is folded by one, unless reads would be far apart. */
const manyResults = 2 ** 16;

/** Steps of an invocation for which a row may have fewer of them. */
const mostSteps = 8;

/** Invocations of a workgroup that folds short rows. */
const usualInvocations = 64;

/**
 * The division for a fold whose state has so many bytes; null where each result is best folded by one invocation.
 * Lengths that are not known are taken for long ones.
 */
export function groupShape(
  { folded, kept, isRow }: FoldExtents,
  stateBytes: number,
): GroupShape | null {
  const [length, results] = [lengthOf(folded), lengthOf(kept)];
  if (stateBytes === 0) return null;
  if (!isRow && results >= manyResults) return null;
  const table = isRow ? partialsOfRows : partialsOfColumns;
  const wanted = table.find(([least]) => length >= least)?.[1] ?? 1;
  let invocations = isRow ? Math.max(wanted, usualInvocations) : workgroupLimits.invocations;
  while (invocations * stateBytes > workgroupLimits.bytes) invocations /= 2;
  const partials = Math.min(wanted, invocations);
  if (partials < 4) return null;
  return isRow ? shapeOfRows(length, results, partials) : { results: invocations / partials, partials, together: 1, isRow }; // prettier-ignore
}

/** The division for rows: fewer invocations for each where there are many, so that they meet less often. */
function shapeOfRows(length: number, results: number, most: number): GroupShape {
  const together = length % lanes === 0 && length >= lanes * most ? lanes : 1;
  let partials = most;
  const canBeLess = (): boolean =>
    partials > 16 && (results * partials) / 4 >= manyResults && (length / (partials * together)) * 4 <= mostSteps; // prettier-ignore
  while (Number.isFinite(results) && canBeLess()) partials /= 4;
  return { results: Math.max(usualInvocations / partials, 1), partials, together, isRow: true };
}

/** The product of extents; infinite where one is not known. */
function lengthOf(extents: readonly Expr[]): number {
  return extents.reduce(
    (product, extent) => product * (extent.kind === 'const' ? Number(extent.value) : Infinity),
    1,
  );
}
