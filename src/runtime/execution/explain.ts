import { typeToString, type Value } from '../../ir/program.js';
import { moduleText } from '../../loop/language/text.js';
import { trafficOf } from '../../passes/groups/traffic.js';
import { type ProgramPlan, placeBytes } from '../../passes/lower/main/plan.js';
import { planMemory } from '../../passes/plan/memory.js';
import type { PlannedBuffer } from '../../passes/groups/places.js';
import { largePlaces } from '../memory/large.js';

/** Groups, kernels and buffers, for people. */
export function planToString(plan: ProgramPlan): string {
  return [...groupLines(plan), ...memoryLines(plan), kernelsText(plan)].join('\n');
}

/** One line for each group in execution order: members, reads, writes, bytes. */
export function groupLines({ program, groups }: ProgramPlan): readonly string[] {
  const nameOf = ({ node: id, port, type }: Value): string => {
    const node = program.node(id);
    if (node.kind === 'variable') return `${node.name}: ${typeToString(type)}`;
    const name = node.kind === 'call' ? node.op.name : 'constant';
    return `${name}#${id}${port === 0 ? '' : `.${port}`}: ${typeToString(type)}`;
  };
  return groups.map((group, step) => {
    const members = group.members.map((id) => nameOfNode(program.node(id), id));
    return (
      `group ${step}: ${members.join(', ')}` +
      `; reads ${group.reads.map(nameOf).join(', ') || 'nothing'}` +
      `; writes ${group.writes.map(nameOf).join(', ')}` +
      `; ${String(trafficOf(group))} bytes`
    );
  });
}

function nameOfNode(node: ReturnType<ProgramPlan['program']['node']>, id: number): string {
  return node.kind === 'call' ? `${node.op.name}#${id}` : `${node.kind}#${id}`;
}

/**
 * One line for each buffer: contents, and live range. With static sizes also which buffers have memory of
 * their own, as large operands and results do, and the arena offsets of the others; symbolic ones are decided
 * at each run.
 */
export function memoryLines(plan: ProgramPlan): readonly string[] {
  const { places } = plan;
  const lengths = places.map(({ length }) => length);
  if (!lengths.every((length) => typeof length === 'number')) {
    const arena = 'arena: as large as the sizes of a run demand';
    return [...places.map(placeToString), ...keptLines(plan), arena];
  }
  const isConstant = (id: number): boolean => places[id].role.kind === 'constant';
  const large = largePlaces(plan, lengths, {
    most: Infinity,
    isFixed: isConstant,
    isGiven: () => false,
  });
  const isOutside = (id: number): boolean => isConstant(id) || large?.places.has(id) === true;
  const inArena = places.flatMap((_, id) => (isOutside(id) ? [] : [id]));
  const layout = planMemory(
    inArena.map((id) => ({
      bytes: placeBytes(places[id], lengths[id]),
      // Inputs are staged before the first step.
      first: places[id].role.kind === 'input' ? -1 : places[id].first,
      last: places[id].last,
    })),
  );
  const offsets = new Map(inArena.map((id, i) => [id, layout.offsets[i]]));
  const lines = places.map((place, id) => {
    const line = placeToString(place, id);
    if (isConstant(id)) return line;
    const offset = offsets.get(id);
    return offset === undefined
      ? `${line}, in memory of its own`
      : `${line}, at ${offset} of the arena`;
  });
  return [
    ...lines,
    ...keptLines(plan),
    `arena: ${layout.bytes} bytes, unless inputs and outputs are pinned`,
  ];
}

/** Kept data of kernels, which takes memory beside the arena. */
function keptLines({ kept }: ProgramPlan): readonly string[] {
  return kept.map(({ places, dtype, whole, inputs }) => {
    const made = inputs.length === 0 ? 'constants' : `input ${inputs.join(' and ')}, once it stays the same`; // prettier-ignore
    return `kept of place ${places.join(', ')}: ${whole} of ${dtype}, made of ${made}`;
  });
}

/** The kernels in the text of the loop IR. */
export function kernelsText({ module }: ProgramPlan): string {
  return moduleText(module);
}

function placeToString({ role, dtype, length, first, last }: PlannedBuffer, id: number): string {
  const what = role.kind === 'input' ? `input ${role.index}` : role.kind;
  return `place ${id}: ${what}, ${String(length)} of ${dtype}, steps ${first} to ${last}`;
}
