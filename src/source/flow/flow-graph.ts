import type * as t from '@babel/types';
import { Graph, type NodeId } from '../../graph/graph.js';
import type { VariableBinding } from '../syntax/scopes.js';

/** A step of a function: at most one read or one write of a variable. */
export interface FlowStep {
  readonly kind: 'entry' | 'exit' | 'join' | 'read' | 'write' | 'test' | 'raise';
  readonly binding?: VariableBinding;
  /** The syntax that the step belongs to. */
  readonly node?: t.Node;
}

/** The way that control takes from one step to another. */
export type Way = 'next' | 'true' | 'false' | 'jump' | 'throw';

export type StepGraph = Graph<FlowStep, Way, Uint32Array>;

/** The ways control may take through the body of a function. */
export interface FlowGraph {
  readonly graph: StepGraph;
  readonly entry: NodeId;
  /** The step at which the function returns, by a statement or at its end. */
  readonly exit: NodeId;
  /** The step at which the function throws. */
  readonly raised: NodeId;
  /** The step after a statement or expression in which control may part. */
  readonly after: ReadonlyMap<t.Node, NodeId>;
  /** The step before each iteration of a loop. */
  readonly heads: ReadonlyMap<t.Node, NodeId>;
  /** The step at the end of each iteration of a loop, before its update. */
  readonly nexts: ReadonlyMap<t.Node, NodeId>;
}

/** The variables of a function, each with a number for sets of bits. */
export class BindingIndex {
  readonly bindings: readonly VariableBinding[];
  readonly #numbers: ReadonlyMap<VariableBinding, number>;

  constructor(bindings: Iterable<VariableBinding>) {
    this.bindings = [...new Set(bindings)];
    this.#numbers = new Map(this.bindings.map((binding, i) => [binding, i]));
  }

  static of({ graph }: FlowGraph): BindingIndex {
    const steps = Array.from(graph.nodes(), (id) => graph.node(id).binding);
    return new BindingIndex(steps.filter((binding) => binding !== undefined));
  }

  get size(): number {
    return this.bindings.length;
  }

  /** The number of a variable; undefined for one that no step mentions. */
  number(binding: VariableBinding): number | undefined {
    return this.#numbers.get(binding);
  }
}

export function newStepGraph(): StepGraph {
  return new Graph<FlowStep, Way, Uint32Array>(Uint32Array);
}
