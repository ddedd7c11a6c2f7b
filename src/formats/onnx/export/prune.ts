import type { OnnxValue } from '../../../ops/declare/onnx.js';
import type { OnnxNode, Subgraph } from './parts.js';

/** The live part of a graph: everything that outputs depend on. */
export interface Used {
  /** In their original order, with dead nodes removed from nested graphs as well. */
  readonly nodes: readonly OnnxNode[];
  readonly values: ReadonlySet<OnnxValue>;
}

export function usedFor(outputs: readonly OnnxValue[], nodes: readonly OnnxNode[]): Used {
  const values = new Set(outputs);
  return { nodes: usedNodes(nodes, values), values };
}

/** Removes dead nodes; adds the values that live ones read to `read`, which starts with the wanted values. */
function usedNodes(nodes: readonly OnnxNode[], read: Set<OnnxValue>): readonly OnnxNode[] {
  return nodes
    .toReversed()
    .flatMap((node): readonly OnnxNode[] => {
      if (!node.outputs.some((output) => read.has(output))) return [];
      for (const input of node.inputs) if (input !== null) read.add(input);
      const graphs = Object.entries(node.graphs).map(([name, graph]): [string, Subgraph] => {
        for (const { value } of graph.outputs) read.add(value);
        return [name, { ...graph, nodes: usedNodes(graph.nodes, read) }];
      });
      return [{ ...node, graphs: Object.fromEntries(graphs) }];
    })
    .toReversed();
}
