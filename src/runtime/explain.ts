import { addDim, type Dim, mulDim, sizeOf } from '../base/dim.js';
import { bytesOf } from '../base/dtype.js';
import { typeToString, type Value } from '../ir/program.js';
import { moduleText } from '../loop/text.js';
import type { Group } from '../passes/fuse.js';
import { type Plan, placeBytes } from '../passes/lower/plan.js';
import { planMemory } from '../passes/memory.js';
import type { Place } from '../passes/places.js';

/** Groups, kernels and places, for people. */
export function planToString(plan: Plan): string {
  return [...groupLines(plan), ...memoryLines(plan), kernelText(plan)].join('\n');
}

/** One line for each group in the order in which they run: members, what is read and written, bytes. */
export function groupLines({ program, groups }: Plan): readonly string[] {
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

function nameOfNode(node: ReturnType<Plan['program']['node']>, id: number): string {
  return node.kind === 'call' ? `${node.op.name}#${id}` : `${node.kind}#${id}`;
}

/** The bytes that a group moves when each value that it reads or writes goes through memory once. */
export function trafficOf(group: Group): Dim {
  return [...group.reads, ...group.writes].reduce<Dim>(
    (total, { type }) => addDim(total, mulDim(bytesOf(type.dtype), sizeOf(type.shape))),
    0,
  );
}

/**
 * One line for each place: what lies there, and from which step to which. The offsets in the arena
 * follow where all sizes are known; symbolic ones are decided at each run.
 */
export function memoryLines({ places }: Plan): readonly string[] {
  const inArena = places.filter(({ role }) => role.kind !== 'constant');
  const lengths = inArena.map(({ length }) => length);
  const offsets = new Map<Place, number>();
  let total = 'as large as the sizes of a run demand';
  if (lengths.every((length) => typeof length === 'number')) {
    const layout = planMemory(
      inArena.map((place, i) => ({
        bytes: placeBytes(place, lengths[i] as number),
        // Inputs are staged before the first step.
        first: place.role.kind === 'input' ? -1 : place.first,
        last: place.last,
      })),
    );
    inArena.forEach((place, i) => offsets.set(place, layout.offsets[i]));
    total = `${layout.bytes} bytes, unless inputs and outputs are pinned`;
  }
  const lines = places.map((place, id) => {
    const offset = offsets.get(place);
    return `${placeToString(place, id)}${offset === undefined ? '' : `, at ${offset} of the arena`}`;
  });
  return [...lines, `arena: ${total}`];
}

/** The kernels in the text of the loop IR. */
export function kernelText({ module }: Plan): string {
  return moduleText(module);
}

function placeToString({ role, dtype, length, first, last }: Place, id: number): string {
  const what = role.kind === 'input' ? `input ${role.index}` : role.kind;
  return `place ${id}: ${what}, ${String(length)} of ${dtype}, steps ${first} to ${last}`;
}
