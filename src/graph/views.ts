import type { Nodes, Predecessors, Successors } from './traverse.js';

/** View of the graph with reversed edges. */
export function reversed<I extends number>(
  graph: Nodes & Successors<I> & Predecessors<I>,
): Nodes & Successors<I> & Predecessors<I> {
  return {
    get nodeCount() {
      return graph.nodeCount;
    },
    forEachSuccessor: (id, visit) => graph.forEachPredecessor(id, visit),
    forEachPredecessor: (id, visit) => graph.forEachSuccessor(id, visit),
  };
}

/** View of the graph without the edges of nodes that `keep` refuses; such nodes stay, isolated. */
export function filtered<I extends number>(
  graph: Nodes & Successors<I> & Predecessors<I>,
  keep: (id: I) => boolean,
): Nodes & Successors<I> & Predecessors<I> {
  const kept =
    (walk: (id: I, visit: (other: I) => void) => void) =>
    (id: I, visit: (other: I) => void): void => {
      if (!keep(id)) return;
      walk(id, (other) => {
        if (keep(other)) visit(other);
      });
    };
  return {
    get nodeCount() {
      return graph.nodeCount;
    },
    forEachSuccessor: kept((id, visit) => graph.forEachSuccessor(id, visit)),
    forEachPredecessor: kept((id, visit) => graph.forEachPredecessor(id, visit)),
  };
}
