import { toDot } from '../graph/dot.js';
import type { NodeId } from '../graph/graph.js';
import { type Program, typeToString } from './program.js';

/**
 * A program in the language of Graphviz: inputs as ellipses, constants as plain text, calls as boxes with
 * their types, nodes that give an output with a double border. Regions are counted, not drawn.
 */
export function programToDot(program: Program, name: string = 'program'): string {
  const outputs = new Set(program.outputs.map(({ value }) => value.node));
  const label = (id: NodeId): string => {
    const node = program.node(id);
    if (node.kind === 'variable') return `${node.name}\n${typeToString(node.type)}`;
    if (node.kind === 'constant') return typeToString(node.data.type);
    const regions = node.regions.length === 0 ? '' : ` (${node.regions.length} regions)`;
    return [`${node.op.name}${regions}`, ...node.types.map(typeToString)].join('\n');
  };
  const shapes = { variable: 'ellipse', constant: 'plaintext', call: 'box' };
  return toDot<NodeId>(program.graph, {
    name,
    label,
    attributes: (id) => ({
      shape: shapes[program.node(id).kind],
      ...(outputs.has(id) && { peripheries: '2' }),
    }),
  });
}
