import { toDot } from '../../graph/dot.js';
import type { NodeId } from '../../graph/graph.js';
import { conditionKey } from '../requirement.js';
import { type Program, type ProgramNode, typeToString } from '../program.js';
import { type Edge } from '../types.js';

/**
 * A program in the language of Graphviz: inputs as ellipses, constants as plain text, calls as boxes with
 * their types, checks as diamonds, nodes that give outputs with a double border and the outputs' names. What a
 * node needs only the size of points to it with a dashed line. Regions are counted, not drawn.
 */
export function programToDot(program: Program, name: string): string {
  const { graph } = program;
  const outputs = new Map<NodeId, readonly string[]>();
  for (const { name: output, value } of program.outputs) {
    outputs.set(value.node, [...(outputs.get(value.node) ?? []), `output ${output}`]);
  }
  const label = (id: NodeId): string =>
    [...nodeLines(program.node(id)), ...(outputs.get(id) ?? [])].join('\n');
  const shapes = { variable: 'ellipse', constant: 'plaintext', call: 'box', check: 'diamond' };
  return toDot<NodeId>(graph, {
    name,
    label,
    attributes: (id) => ({
      shape: shapes[program.node(id).kind],
      ...(outputs.has(id) && { peripheries: '2' }),
    }),
    edges: (id) =>
      [...graph.outEdges(id)].map((edge) => ({
        to: graph.target(edge),
        attributes: look(graph.edge(edge)),
      })),
  });
}

function look(edge: Edge): Readonly<Record<string, string>> {
  return edge.kind === 'data' ? {} : { label: edge.name, style: 'dashed' };
}

function nodeLines(node: ProgramNode): readonly string[] {
  switch (node.kind) {
    case 'variable':
      return [node.name, typeToString(node.type)];
    case 'constant':
      return [typeToString(node.data.type)];
    case 'check':
      return [`require ${conditionKey(node.requirement)}`];
    case 'call': {
      const regions = node.regions.length === 0 ? '' : ` (${node.regions.length} regions)`;
      return [`${node.op.name}${regions}`, ...node.types.map(typeToString)];
    }
  }
}
