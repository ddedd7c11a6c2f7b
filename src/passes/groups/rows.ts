import { boundsOf, type Dim, elementCount, sameShape } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Group } from './group.js';
import { sameButForOnes, viewed } from '../rewrite/views.js';

/**
 * Reductions that fold the same axes of one domain. A row is the set of elements folded into one result; rows
 * are independent, so everything derived from a row can be computed while it is in the cache.
 */
export interface RowFrame {
  readonly domain: readonly Dim[];
  readonly folded: readonly number[];
}

/** Longest row: the elements of a longer one have left the cache before the next pass. */
const longestRow = 2 ** 16;

/** Longest row where it is the only one: threads, or workgroups, could share a longer one between reductions. */
const longestOnlyRow = 2 ** 13;

/**
 * The frame of a reduction, if row-by-row processing pays: the elements of a row are contiguous, there are
 * several, and the row is not certainly too long for the cache, or, where it is the only one, certainly short.
 */
export function rowFrame(program: Program, reduction: NodeId): RowFrame | null {
  const call = program.node(reduction) as CallNode;
  const { lowering } = declarationOf(call.op);
  if (lowering.kind !== 'reduce') return null;
  const domain = program.operands(reduction)[0].type.shape;
  const folded = lowering.axes(call.attributes, domain.length);
  const wide = domain.flatMap((dim, axis) => (dim === 1 ? [] : [axis]));
  const last = wide[wide.length - 1];
  if (last === undefined || !folded.includes(last)) return null;
  const length = boundsOf(elementCount(domain.filter((_, axis) => folded.includes(axis))));
  const isOnlyRow = wide.every((axis) => folded.includes(axis));
  const isShort = isOnlyRow ? length.max <= longestOnlyRow : length.min <= longestRow;
  return isShort ? { domain, folded } : null;
}

export function sameFrame(a: RowFrame, b: RowFrame): boolean {
  return sameShape(a.domain, b.domain) && a.folded.join() === b.folded.join();
}

/** True when a shape has one element for each of the domain. */
export function isWide({ domain }: RowFrame, shape: readonly Dim[]): boolean {
  return sameButForOnes(shape, domain);
}

/** True when a shape has one element for each row. */
export function isNarrow({ domain, folded }: RowFrame, shape: readonly Dim[]): boolean {
  const kept = domain.filter((_, axis) => !folded.includes(axis));
  return sameButForOnes(shape, kept);
}

/**
 * Number of dependent reductions of a row that must be complete before the results of a node are known; for
 * the reductions themselves, the level of their results.
 */
export function rowLevels(
  program: Program,
  members: readonly NodeId[],
  anchors: readonly NodeId[],
): ReadonlyMap<NodeId, number> {
  const levels = new Map<NodeId, number>();
  const reductions = new Set(anchors);
  for (const id of [...members].sort((a, b) => a - b)) {
    let level = 0;
    for (const operand of program.operands(id)) {
      level = Math.max(level, levels.get(viewed(program, operand).node) ?? 0);
    }
    levels.set(id, reductions.has(id) ? level + 1 : level);
  }
  return levels;
}

/** The level at which a reduction folds its input. */
export function inputLevel(
  program: Program,
  reduction: NodeId,
  levels: ReadonlyMap<NodeId, number>,
): number {
  return levels.get(viewed(program, program.operands(reduction)[0]).node) ?? 0;
}

/** True when a group needs several passes over a row. */
export function isStaged(
  program: Program,
  { members, anchors, beside }: Pick<Group, 'members' | 'anchors' | 'beside'>,
): boolean {
  const levels = rowLevels(program, members, anchors);
  return (
    anchors.some((id) => inputLevel(program, id, levels) > 0) ||
    beside.some(({ node }) => levels.get(node)! > 0)
  );
}
