import { toDot } from '../../graph/dot.js';
import type { NodeId } from '../../graph/graph.js';
import { conditionKey } from '../requirement.js';
import { type Program, typeToString } from '../program.js';
import { type Edge } from '../types.js';

/**
 * A program in the language of Graphviz: inputs as ellipses, constants as plain text, calls as boxes with
 * their types, checks as diamonds, nodes that give an output with a double border. What a node needs only the
 * size of points to it with a dashed line. Regions are counted, not drawn.
 */
export function programToDot(program: Program, name: string = 'program'): string {
  const { graph } = program;
  const outputs = new Set(program.outputs.map(({ value }) => value.node));
  const label = (id: NodeId): string => {
    const node = program.node(id);
    if (node.kind === 'variable') return `${node.name}\n${typeToString(node.type)}`;
    if (node.kind === 'constant') return typeToString(node.data.type);
    if (node.kind === 'check') return `require ${conditionKey(node.requirement)}`;
    const regions = node.regions.length === 0 ? '' : ` (${node.regions.length} regions)`;
    return [`${node.op.name}${regions}`, ...node.types.map(typeToString)].join('\n');
  };
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
