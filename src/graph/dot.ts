import { dotString } from '../base/escape.js';
import type { Nodes, Successors } from './traverse.js';

export interface DotOptions<I extends number> {
  readonly name?: string;
  readonly label: (id: I) => string;
  /** Further attributes of a node, such as `{ shape: 'box' }`. */
  readonly attributes?: (id: I) => Readonly<Record<string, string>>;
  /** The edges that start in a node, in order. Default: one edge without attributes to each successor. */
  readonly edges?: (id: I) => Iterable<DotEdge<I>>;
}

export interface DotEdge<I extends number> {
  readonly to: I;
  /** Graphviz attributes, such as `{ style: 'dashed' }`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The graph as Graphviz text. */
export function toDot<I extends number>(
  graph: Nodes & Successors<I>,
  { name = 'graph', label, attributes = () => ({}), edges = plainEdges(graph) }: DotOptions<I>,
): string {
  const lines = [`digraph ${dotString(name)} {`];
  for (let id = 0; id < graph.nodeCount; id++) {
    lines.push(`  ${id}${attributeList({ label: label(id as I), ...attributes(id as I) })};`);
  }
  for (let id = 0; id < graph.nodeCount; id++) {
    for (const { to, attributes: facts } of edges(id as I)) {
      lines.push(`  ${id} -> ${to}${attributeList(facts)};`);
    }
  }
  lines.push('}');
  return `${lines.join('\n')}\n`;
}

function plainEdges<I extends number>(graph: Successors<I>): (id: I) => Iterable<DotEdge<I>> {
  return (id) => {
    const found: DotEdge<I>[] = [];
    graph.forEachSuccessor(id, (to) => found.push({ to, attributes: {} }));
    return found;
  };
}

function attributeList(attributes: Readonly<Record<string, string>>): string {
  const facts = Object.entries(attributes);
  if (facts.length === 0) return '';
  return ` [${facts.map(([key, value]) => `${dotString(key)}=${dotString(value)}`).join(', ')}]`;
}
