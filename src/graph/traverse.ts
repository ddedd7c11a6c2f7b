/**
 * Graph traversals. Each asks only for the capabilities it needs, so views and any class with densely
 * numbered nodes will do, and none recurses: a chain of a million nodes is an ordinary graph.
 */

/** Nodes numbered densely from 0. */
export interface Nodes {
  readonly nodeCount: number;
}

export interface Successors<I extends number> {
  forEachSuccessor(id: I, visit: (successor: I) => void): void;
}

export interface Predecessors<I extends number> {
  forEachPredecessor(id: I, visit: (predecessor: I) => void): void;
}

/** The nodes reachable from `roots` in the order in which a depth-first search finds them. */
export function preorder<I extends number>(
  graph: Nodes & Successors<I>,
  roots: Iterable<I>,
): readonly I[] {
  const order: I[] = [];
  search(graph, roots, { enter: (id) => order.push(id) });
  return order;
}

/** The nodes reachable from `roots`, each after everything first reached through it. */
export function postorder<I extends number>(
  graph: Nodes & Successors<I>,
  roots: Iterable<I>,
): readonly I[] {
  const order: I[] = [];
  search(graph, roots, { leave: (id) => order.push(id) });
  return order;
}

export interface Visitor<I extends number> {
  enter?(id: I): void;
  leave?(id: I): void;
}

/** Depth-first search: enters each reachable node once, successors in their order. */
function search<I extends number>(
  graph: Nodes & Successors<I>,
  roots: Iterable<I>,
  { enter, leave }: Visitor<I>,
): void {
  const entered = new Uint8Array(graph.nodeCount);
  // ~id on the stack means: leave id.
  const stack: number[] = [];
  for (const root of roots) {
    stack.push(root);
    while (stack.length > 0) {
      const top = stack.pop()!;
      if (top < 0) {
        leave?.(~top as I);
        continue;
      }
      if (entered[top] === 1) continue;
      entered[top] = 1;
      enter?.(top as I);
      stack.push(~top);
      const first = stack.length;
      graph.forEachSuccessor(top as I, (successor) => {
        if (entered[successor] === 0) stack.push(successor);
      });
      // The first successor must be on top.
      for (let i = first, j = stack.length - 1; i < j; i++, j--) {
        [stack[i], stack[j]] = [stack[j], stack[i]];
      }
    }
  }
}

export type Sorted<I extends number> =
  { readonly order: readonly I[] } | { readonly cycle: readonly I[] };

/**
 * Topological order, or the nodes of one cycle, each followed by a successor and the last by the first.
 * Kahn's algorithm (1962); ready nodes are taken first in, first out, initially in the order of ids.
 */
export function toposort<I extends number>(graph: Nodes & Successors<I>): Sorted<I> {
  const { nodeCount } = graph;
  const waiting = new Uint32Array(nodeCount);
  for (let id = 0; id < nodeCount; id++) {
    graph.forEachSuccessor(id as I, (successor) => waiting[successor]++);
  }
  const order: I[] = [];
  for (let id = 0; id < nodeCount; id++) if (waiting[id] === 0) order.push(id as I);
  for (let next = 0; next < order.length; next++) {
    graph.forEachSuccessor(order[next], (successor) => {
      if (--waiting[successor] === 0) order.push(successor);
    });
  }
  return order.length === nodeCount ? { order } : { cycle: findCycle(graph, waiting) };
}

/** Every node left over has a predecessor that is left over too, so walking back must repeat a node. */
function findCycle<I extends number>(
  graph: Nodes & Successors<I>,
  waiting: Uint32Array,
): readonly I[] {
  const before = new Int32Array(graph.nodeCount).fill(-1);
  for (let id = 0; id < graph.nodeCount; id++) {
    if (waiting[id] === 0) continue;
    graph.forEachSuccessor(id as I, (successor) => {
      if (waiting[successor] > 0) before[successor] = id;
    });
  }
  let at = before.findIndex((id) => id >= 0);
  const seen = new Uint8Array(graph.nodeCount);
  while (seen[at] === 0) {
    seen[at] = 1;
    at = before[at];
  }
  const cycle = [at as I];
  for (let id = before[at]; id !== at; id = before[id]) cycle.push(id as I);
  return cycle.reverse();
}
