import { dotString } from '../base/escape.js';
import type { Nodes, Successors } from './traverse.js';

export interface DotOptions<I extends number> {
  readonly name?: string;
  readonly label: (id: I) => string;
  /** Further attributes of a node, such as `{ shape: 'box' }`. */
  readonly attributes?: (id: I) => Readonly<Record<string, string>>;
}

/** A graph in the language of Graphviz. */
export function toDot<I extends number>(
  graph: Nodes & Successors<I>,
  { name = 'graph', label, attributes = () => ({}) }: DotOptions<I>,
): string {
  const lines = [`digraph ${dotString(name)} {`];
  for (let id = 0; id < graph.nodeCount; id++) {
    const facts = Object.entries({ label: label(id as I), ...attributes(id as I) });
    lines.push(
      `  ${id} [${facts.map(([key, value]) => `${dotString(key)}=${dotString(value)}`).join(', ')}];`,
    );
  }
  for (let id = 0; id < graph.nodeCount; id++) {
    graph.forEachSuccessor(id as I, (successor) => lines.push(`  ${id} -> ${successor};`));
  }
  lines.push('}');
  return `${lines.join('\n')}\n`;
}
