import type { NodeId } from '../../graph/graph.js';
import { BitSet } from './bits.js';
import { type DataFlowSolution, solveDataFlow } from './data-flow.js';
import type { BindingIndex, FlowGraph } from './flow-graph.js';

type Flow = Pick<FlowGraph, 'graph' | 'entry' | 'exit' | 'raised'>;

/** The variables whose values may still be read, before and after each step. */
export interface Liveness extends DataFlowSolution<NodeId, BitSet> {
  readonly index: BindingIndex;
}

/**
 * Liveness: a variable is live where some way leads to a read of it without a write before.
 * @param liveAtEnd Variables that are read after the function has returned or thrown.
 */
export function liveness(
  flow: Flow,
  index: BindingIndex,
  liveAtEnd: BitSet = BitSet.none(index.size),
): Liveness {
  const { graph, exit, raised } = flow;
  const solution = solveDataFlow<NodeId, BitSet>(graph, {
    direction: 'backward',
    boundary: new Map([
      [exit, liveAtEnd],
      [raised, liveAtEnd],
    ]),
    top: BitSet.none(index.size),
    meet: (a, b) => a.union(b),
    transfer: (id, live) => {
      const { kind, binding } = graph.node(id);
      const bit = binding === undefined ? undefined : index.number(binding);
      if (bit === undefined) return live;
      return kind === 'write' ? live.without(bit) : live.with(bit);
    },
    equal: (a, b) => a.equals(b),
  });
  return { ...solution, index };
}

/** The writes that may have given variables their present values. */
export interface ReachingDefinitions extends DataFlowSolution<NodeId, BitSet> {
  /** The writes by their numbers in the sets. */
  readonly definitions: readonly NodeId[];
}

/** Reaching definitions: a write reaches where some way from it has no other write of its variable. */
export function reachingDefinitions({ graph, entry }: Flow): ReachingDefinitions {
  const definitions = [...graph.nodes()].filter((id) => graph.node(id).kind === 'write');
  const numbers = new Map(definitions.map((id, i) => [id, i]));
  const none = BitSet.none(definitions.length);
  const kills = new Map<unknown, BitSet>();
  definitions.forEach((id, i) => {
    const { binding } = graph.node(id);
    kills.set(binding, (kills.get(binding) ?? none).with(i));
  });
  const solution = solveDataFlow<NodeId, BitSet>(graph, {
    direction: 'forward',
    boundary: new Map([[entry, none]]),
    top: none,
    meet: (a, b) => a.union(b),
    transfer: (id, reaching) => {
      const number = numbers.get(id);
      if (number === undefined) return reaching;
      return reaching.minus(kills.get(graph.node(id).binding)!).with(number);
    },
    equal: (a, b) => a.equals(b),
  });
  return { ...solution, definitions };
}

/**
 * Definite assignment: a variable is assigned where every way from the entry has a write of it. What no way
 * reaches has every variable assigned.
 */
export function definiteAssignment(
  { graph, entry }: Flow,
  index: BindingIndex,
  assignedAtEntry: BitSet = BitSet.none(index.size),
): DataFlowSolution<NodeId, BitSet> {
  return solveDataFlow<NodeId, BitSet>(graph, {
    direction: 'forward',
    boundary: new Map([[entry, assignedAtEntry]]),
    top: BitSet.all(index.size),
    meet: (a, b) => a.intersection(b),
    transfer: (id, assigned) => {
      const { kind, binding } = graph.node(id);
      const bit = binding === undefined ? undefined : index.number(binding);
      return kind === 'write' && bit !== undefined ? assigned.with(bit) : assigned;
    },
    equal: (a, b) => a.equals(b),
  });
}
