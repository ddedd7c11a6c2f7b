import type { FoldExtents } from '../../../ops/nests/schedule.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { workgroupLimits } from '../../../loop/language/verify-workgroups.js';

/** Division of the invocations of a workgroup: so many results, each folded by so many `partials`. Powers of two. */
export interface GroupShape {
  readonly results: number;
  readonly partials: number;
  /** Neighbors of one result that an invocation takes in one step. */
  readonly together: 1 | 4;
  /** Neighboring results that an invocation folds as vectors; `results` are as many of these. Default 1. */
  readonly width?: 4;
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
export const manyResults: number = 2 ** 16;

/** Vectors of neighboring results of a workgroup. */
const usualVectors = 16;

/** Steps of an invocation for which a row may have fewer of them. */
const mostSteps = 8;

/** Invocations of a workgroup that folds short rows. */
const usualInvocations = 64;

/** Invocations for a result of so many elements: a row of neighbors, or one of neighboring results. 1 for few elements. */
export function partialsFor(length: number, isRow: boolean): number {
  const table = isRow ? partialsOfRows : partialsOfColumns;
  return table.find(([least]) => length >= least)?.[1] ?? 1;
}

/** Invocations of a workgroup of which so many have one result. */
export function invocationsFor(partials: number, isRow: boolean): number {
  return isRow ? Math.max(partials, usualInvocations) : workgroupLimits.invocations;
}

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
  const wanted = partialsFor(length, isRow);
  let invocations = invocationsFor(wanted, isRow);
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

/**
 * The division for columns with vectors of neighboring results; null where their number is no multiple, or states do
 * not fit.
 */
export function shapeOfVectors({ folded, kept }: FoldExtents, stateBytes: number): GroupShape | null {
  const [length, results, columns] = [lengthOf(folded), lengthOf(kept), lengthOf(kept.slice(-1))];
  const { invocations, bytes } = workgroupLimits;
  const isWhole = Number.isFinite(columns) && columns > 0 && columns % lanes === 0;
  if (!isWhole || length < partialsOfColumns[0][0] || results >= manyResults) return null;
  if (invocations * stateBytes * lanes > bytes) return null;
  // All invocations have something to do where there are few columns.
  let together = usualVectors;
  while (together * lanes > results) together /= 2;
  return { results: together, partials: invocations / together, together: 1, width: lanes, isRow: false };
} // prettier-ignore

/** The product of extents; infinite where one is not known. */
function lengthOf(extents: readonly Expr[]): number {
  return extents.reduce(
    (product, extent) => product * (extent.kind === 'const' ? Number(extent.value) : Infinity),
    1,
  );
}
