import { typeToString } from '../ir/program.js';
import { moduleText } from '../loop/text.js';
import type { Plan } from '../passes/lower/plan.js';
import type { Place } from '../passes/places.js';

/** Groups, kernels and places, for people. */
export function planToString(plan: Plan): string {
  const { program, groups, places } = plan;
  const nameOf = (id: number): string => {
    const node = program.node(id as (typeof groups)[number]['anchors'][number]);
    if (node.kind === 'variable') return node.name;
    return node.kind === 'call' ? `${node.op.name}#${id}` : `constant#${id}`;
  };
  const lines = groups.map((group, step) => {
    const members = group.members.map(nameOf).join(', ');
    const writes = group.writes.map(
      (value) => `${nameOf(value.node)}.${value.port}: ${typeToString(value.type)}`,
    );
    return `group ${step}: ${members} -> ${writes.join(', ')}`;
  });
  places.forEach((place, id) => lines.push(placeToString(place, id)));
  return `${lines.join('\n')}\n${moduleText(plan.module)}`;
}

function placeToString({ role, dtype, length, first, last }: Place, id: number): string {
  const what = role.kind === 'input' ? `input ${role.index}` : role.kind;
  return `place ${id}: ${what}, ${String(length)} of ${dtype}, steps ${first} to ${last}`;
}
