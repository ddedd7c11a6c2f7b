import { bytesOf } from '../base/dtype.js';
import { layOutPlan } from '../artifact/layout.js';
import type { StaticGraph } from '../front/staticgraph.js';
import { namedInputs, typeToString } from '../ir/program.js';
import { planParts } from '../runtime/compile.js';

/** What a graph is, for people: signature, operators, parameters, memory. */
export function inspect(graph: StaticGraph): string {
  const { program, parts } = graph;
  const types = new Map(namedInputs(program).map(({ name, type }) => [name, type]));
  const outputs = program.outputs.slice(0, graph.outputNames.length);
  const parameters = [...graph.parameters].map(([name, array]) => ({
    name,
    type: typeToString(array),
    bytes: array.size * bytesOf(array.dtype),
  }));
  const weight = parameters.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), ''];
  return [
    ...rows('inputs', graph.inputNames.map((name) => `${name}: ${typeToString(types.get(name)!)}`)),
    ...rows('outputs', outputs.map(({ name, value }) => `${name}: ${typeToString(value.type)}`)),
    ...rows(
      `parameters: ${parameters.length}, ${weight} bytes`,
      parameters.map(({ name, type, bytes }) => `${name}: ${type}, ${bytes} bytes`),
    ),
    ...rows('operators', histogram(graph)),
    ...rows('memory', memoryOf(graph)),
    parts.writes.length === 0
      ? 'It changes nothing: two runs on the same inputs give the same.'
      : `A run changes ${parts.writes.length} arrays of its state.`,
    '',
  ].join('\n'); // prettier-ignore
}

function histogram({ program }: StaticGraph): readonly string[] {
  const counts = new Map<string, number>();
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'call') counts.set(node.op.name, (counts.get(node.op.name) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${count} ${name}`);
}

/** What the compiler makes of it. */
function memoryOf({ program }: StaticGraph): readonly string[] {
  return planParts(program).flatMap(({ title, plan }) => {
    const isConstant = (role: { readonly kind: string }): boolean => role.kind === 'constant';
    const { bytes } = layOutPlan(plan, ({ role }) => isConstant(role), 0);
    const kernels = plan.module.kernels.length;
    const what = title === '' ? '' : `${title}: `;
    return [
      `${what}${String(bytes)} bytes for ${plan.places.length} arrays, inputs and constants among them`,
      `${what}${plan.groups.length} groups, ${kernels} kernels`,
    ];
  });
}
