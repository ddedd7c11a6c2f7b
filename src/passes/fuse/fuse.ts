import type { Program } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import { Costs } from './cost.js';
import { inlinePoints } from './inline.js';
import { mergeGroups } from './merge.js';
import type { Group } from '../groups/group.js';
import { isNumber } from '../groups/places.js';
import { viewed } from '../rewrite/views.js';

/** One group for every call that computes something: no fusion. */
export function separate(program: Program): readonly Group[] {
  const groups: Group[] = [];
  for (const [id, node] of program.calls()) {
    if (declarationOf(node.op).lowering.kind === 'view') continue;
    const operands = program.operands(id).map((operand) => viewed(program, operand));
    const reads = new Set(operands.filter((operand) => !isNumber(program, operand)));
    groups.push({
      anchors: [id],
      members: [id],
      reads: [...reads, ...program.sizeReads(id)],
      writes: program.results(id),
      beside: [],
      kept: [],
      reuses: new Map(),
    });
  }
  return groups;
}

/**
 * Groups that minimize memory traffic without repeating expensive work. First every point operator is either
 * inlined into its readers or gets a group of its own; then neighboring groups over the same domain are
 * merged. A target may have longer epilogues than processors.
 */
export function fuse(
  program: Program,
  { longestEpilogue }: Pick<DeviceTarget, 'longestEpilogue'> = {},
): readonly Group[] {
  const costs = new Costs(program, longestEpilogue);
  return mergeGroups(program, inlinePoints(program, costs), costs);
}
