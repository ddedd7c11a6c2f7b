import { Table } from '../../graph/table.js';
import { type Nodes, postorder, type Predecessors, type Successors } from '../../graph/traverse.js';

/**
 * A data-flow problem: facts travel along the edges of a graph, change in its nodes and meet where edges do.
 * `transfer` must be monotone, and chains of facts finite: then the solution is the largest fixed point
 * (G. Kildall, "A Unified Approach to Global Program Optimization", 1973).
 */
export interface DataFlowProblem<I extends number, F> {
  readonly direction: 'forward' | 'backward';
  /** The nodes at which facts enter, and the fact there. */
  readonly boundary: ReadonlyMap<I, F>;
  /** The fact of no path at all: `meet(top, x)` is `x`. */
  readonly top: F;
  readonly meet: (a: F, b: F) => F;
  readonly transfer: (node: I, fact: F) => F;
  readonly equal: (a: F, b: F) => boolean;
}

/** The facts just before and just after each node in the order of execution. */
export interface DataFlowSolution<I extends number, F> {
  readonly before: Table<I, F>;
  readonly after: Table<I, F>;
}

/** Solves a data-flow problem with a worklist in reverse postorder of the direction. */
export function solveDataFlow<I extends number, F>(
  graph: Nodes & Successors<I> & Predecessors<I>,
  { direction, boundary, top, meet, transfer, equal }: DataFlowProblem<I, F>,
): DataFlowSolution<I, F> {
  const isForward = direction === 'forward';
  const eachSource = (id: I, visit: (source: I) => void): void =>
    isForward ? graph.forEachPredecessor(id, visit) : graph.forEachSuccessor(id, visit);
  const eachTarget = (id: I, visit: (target: I) => void): void =>
    isForward ? graph.forEachSuccessor(id, visit) : graph.forEachPredecessor(id, visit);

  const ids = Array.from({ length: graph.nodeCount }, (_, id) => id as I);
  const order = postorder<I>({ nodeCount: graph.nodeCount, forEachSuccessor: eachTarget }, [
    ...boundary.keys(),
    ...ids,
  ]).toReversed();
  const entering = new Table<I, F>(graph.nodeCount, top);
  const leaving = new Table<I, F>(graph.nodeCount, top);
  const rank = new Table<I, number>(graph.nodeCount, 0);
  order.forEach((id, position) => rank.set(id, position));

  let waiting = new Set<number>(order.keys());
  while (waiting.size > 0) {
    // One sweep in order; nodes that a later one changes wait for the next sweep.
    const sweep = [...waiting].sort((a, b) => a - b);
    waiting = new Set();
    const isNew = new Set(sweep);
    for (const position of sweep) {
      const id = order[position];
      let fact = boundary.get(id) ?? top;
      eachSource(id, (source) => (fact = meet(fact, leaving.get(source))));
      entering.set(id, fact);
      const result = transfer(id, fact);
      isNew.delete(position);
      if (equal(result, leaving.get(id))) continue;
      leaving.set(id, result);
      eachTarget(id, (target) => {
        const next = rank.get(target);
        if (!isNew.has(next)) waiting.add(next);
      });
    }
  }
  return isForward ? { before: entering, after: leaving } : { before: leaving, after: entering };
}
