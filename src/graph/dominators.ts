import { Table } from './table.js';
import { type Nodes, postorder, type Predecessors, type Successors } from './traverse.js';

/** Dominator tree: the nodes that lie on every path from the root to a node. */
export class Dominators<I extends number> {
  readonly root: I;
  /** Immediate dominator. The root is its own; nodes that the root does not reach have none. */
  readonly #immediate: Table<I, I | undefined>;
  /** The root has depth 0. */
  readonly #depth: Table<I, number>;

  constructor(root: I, immediate: Table<I, I | undefined>, depth: Table<I, number>) {
    this.root = root;
    this.#immediate = immediate;
    this.#depth = depth;
  }

  /** The immediate dominator; undefined for the root and for nodes it does not reach. */
  immediate(id: I): I | undefined {
    return id === this.root ? undefined : this.#immediate.get(id);
  }

  /** True when every path from the root to `b` goes through `a`; each reachable node dominates itself. */
  dominates(a: I, b: I): boolean {
    let at = this.#immediate.get(b) === undefined ? undefined : b;
    while (at !== undefined && this.#depth.get(at) > this.#depth.get(a)) at = this.immediate(at);
    return at === a;
  }
}

/**
 * The dominator tree of the nodes that `root` reaches. K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast
 * Dominance Algorithm" (2001). One sweep settles an acyclic graph.
 */
export function dominators<I extends number>(
  graph: Nodes & Successors<I> & Predecessors<I>,
  root: I,
): Dominators<I> {
  const order = postorder(graph, [root]);
  const number = new Table<I, number>(graph.nodeCount, -1);
  order.forEach((id, position) => number.set(id, position));
  const immediate = new Table<I, I | undefined>(graph.nodeCount, undefined);
  immediate.set(root, root);

  const meet = (a: I, b: I): I => {
    let [x, y] = [a, b];
    while (x !== y) {
      while (number.get(x) < number.get(y)) x = immediate.get(x)!;
      while (number.get(y) < number.get(x)) y = immediate.get(y)!;
    }
    return x;
  };
  for (let changed = true; changed;) {
    changed = false;
    for (let position = order.length - 2; position >= 0; position--) {
      const id = order[position];
      let found: I | undefined;
      graph.forEachPredecessor(id, (predecessor) => {
        if (immediate.get(predecessor) === undefined) return;
        found = found === undefined ? predecessor : meet(found, predecessor);
      });
      if (found === immediate.get(id)) continue;
      immediate.set(id, found);
      changed = true;
    }
  }
  const depth = new Table<I, number>(graph.nodeCount, 0);
  for (let position = order.length - 2; position >= 0; position--) {
    const id = order[position];
    depth.set(id, depth.get(immediate.get(id)!) + 1);
  }
  return new Dominators(root, immediate, depth);
}
