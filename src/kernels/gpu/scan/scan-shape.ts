import { type GroupShape, invocationsFor, manyResults, partialsFor } from '../folds/group-shape.js';

/** Sizes of a scan; infinite where they are not known. */
export interface ScanSizes {
  /** Elements of a row. */
  readonly length: number;
  /** Rows that are neighbors in memory, and all of them. */
  readonly neighbors: number;
  readonly rows: number;
}

/** Neighboring elements of a row that an invocation takes at once. */
export const scanLanes = 4;

/** Neighboring rows from which on reads of neighboring elements are worth more than invocations for each row. */
const fewNeighbors = 16;

/** Division of a workgroup among rows; null where an invocation scans each. */
export function scanShape({ length, neighbors, rows }: ScanSizes): GroupShape | null {
  const isRow = neighbors < fewNeighbors;
  if (!isRow && Number.isFinite(rows) && rows >= manyResults) return null;
  const partials = partialsFor(length, isRow);
  if (partials === 1) return null;
  const results = invocationsFor(partials, isRow) / partials;
  return { results, partials, together: scanLanes, isRow };
}

/** Workgroups that fill a GPU. */
const manyGroups = 256;

/** Steps of a workgroup over a row from which on others take parts of the row. */
const manySteps = 16;

/** Blocks of a row of known length, at most; each adds up those before it. */
const manyBlocks = 512;

/** Steps of a block, at least, and of one in a row of unknown length. */
const fewSteps = 4;
const usualSteps = 8;

/** Elements of the blocks of a row that workgroups scan on their own, before another dispatch; null where one scans each row. */
export function scanBlock(sizes: ScanSizes, most: number): number | null {
  const shape = scanShape(sizes);
  if (shape === null) return null;
  const step = shape.partials * scanLanes;
  if (most <= step * manySteps) return null;
  if (Number.isFinite(sizes.rows) && sizes.rows / shape.results >= manyGroups) return null;
  if (!Number.isFinite(sizes.length)) return step * usualSteps;
  const steps = 2 ** Math.ceil(Math.log2(sizes.length / (step * manyBlocks)));
  return step * Math.max(steps, fewSteps);
}
