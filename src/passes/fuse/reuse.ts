import { sameShape } from '../../base/dim/index.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { sameType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Group } from '../groups/group.js';
import { inputLevel, rowLevels } from '../groups/rows.js';
import { viewed } from '../rewrite/views.js';
import { readOnlyAtIdentity } from './agree.js';
import type { Cluster } from './clusters.js';

/** For each result, the operands whose buffer it may reuse; see `Group.reuses`. */
export function reusesOf(program: Program, cluster: Cluster): Group['reuses'] {
  const reuses = new Map<Value, Value[]>();
  // Readers of a fold may recompute a value that was written beside it, from the same operands; only they
  // read operands of another shape.
  const isRepeated =
    cluster.draft.kind !== 'rows' &&
    cluster.beside.size > 0 &&
    cluster.writes.size > cluster.beside.size;
  const overwritten = overwrittenBy(program, cluster);
  const last = cluster.draft.kind === 'rows' ? lastOfRows(program, cluster) : cluster.writes;
  for (const operand of cluster.reads) {
    if (isRepeated && sameShape(operand.type.shape, cluster.draft.domain)) continue;
    const takers = [...last].filter(({ type }) => sameType(type, operand.type));
    if (takers.length === 0) continue;
    if (operand !== overwritten && !readOnlyAtIdentity(program, operand, cluster)) continue;
    for (const value of takers) reuses.set(value, [...(reuses.get(value) ?? []), operand]);
  }
  return reuses;
}

/** Results that are written during the last pass over a row, element by element. */
function lastOfRows(program: Program, { draft, beside }: Cluster): ReadonlySet<Value> {
  const levels = rowLevels(program, [...draft.members], draft.anchors);
  const looks = draft.anchors.map((id) => inputLevel(program, id, levels));
  const last = Math.max(...looks, ...[...beside].map(({ node }) => levels.get(node)!));
  return new Set([...beside].filter(({ node }) => levels.get(node) === last));
}

/** The operand that a kernel overwrites, if that is its only read. */
function overwrittenBy(program: Program, { draft: { anchors, members } }: Cluster): Value | null {
  const [id] = anchors;
  const { lowering } = declarationOf((program.node(id) as CallNode).op);
  if (lowering.kind !== 'kernel' || lowering.overwrites === undefined || members.size > 1) {
    return null;
  }
  const operands = program.operands(id);
  const operand = operands[lowering.overwrites];
  const uses = operands.filter((each) => viewed(program, each) === operand);
  return uses.length === 1 && viewed(program, operand) === operand ? operand : null;
}
