import type { NodeId } from '../../../graph/graph.js';
import type { Program, Value } from '../../../ir/program.js';
import type { Group } from '../../groups/group.js';
import { inputLevel, isWide, rowFrame, rowLevels } from '../../groups/rows.js';
import { viewed } from '../../rewrite/views.js';

/** One pass over a row. */
export interface RowStage {
  /** The reductions that fold it. */
  readonly anchors: readonly NodeId[];
  /** The elementwise results that are stored. */
  readonly stores: readonly Value[];
  /** Values that are computed here and read again in later passes. */
  readonly keeps: readonly Value[];
}

/** The passes of a group of reductions: everything is computed in the first that knows its operands. */
export function rowStages(program: Program, group: Group): readonly RowStage[] {
  const levels = rowLevels(program, group.members, group.anchors);
  const levelOf = ({ node }: Value): number => levels.get(node)!;
  const looks = group.anchors.map((id) => inputLevel(program, id, levels));
  const count = 1 + Math.max(...looks, ...group.beside.map(levelOf));
  const stages = Array.from({ length: count }, (_, level) => ({
    anchors: group.anchors.filter((_, k) => looks[k] === level),
    stores: group.beside.filter((value) => levelOf(value) === level),
  }));
  const needs = stages.map(({ anchors, stores }) =>
    neededBy(program, group, [...anchors.map((id) => program.operands(id)[0]), ...stores]),
  );
  const frame = rowFrame(program, group.anchors[0])!;
  const waiting = group.kept.filter(
    (value) =>
      group.members.includes(value.node) &&
      !group.anchors.includes(value.node) &&
      isWide(frame, value.type.shape) &&
      needs.filter((needed) => needed.has(value)).length > 1,
  );
  const firstOf = (value: Value): number => needs.findIndex((needed) => needed.has(value));
  return stages.map((stage, level) => ({
    ...stage,
    keeps: waiting.filter((value) => firstOf(value) === level),
  }));
}

/** The values computed inside of a group for some others, through any number of views. */
function neededBy(program: Program, group: Group, roots: readonly Value[]): ReadonlySet<Value> {
  const members = new Set(group.members);
  const reductions = new Set(group.anchors);
  const needed = new Set<Value>();
  const open = roots.map((value) => viewed(program, value));
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (needed.has(value) || !members.has(value.node) || reductions.has(value.node)) continue;
    needed.add(value);
    open.push(...program.operands(value.node).map((operand) => viewed(program, operand)));
  }
  return needed;
}
