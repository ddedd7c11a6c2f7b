import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import type { Scopes } from '../syntax/scopes.js';
import { newStepGraph, type FlowStep, type StepGraph, type Way } from './flow-graph.js';

/** Writes a flow graph in the order of execution: steps are added after the present one. */
export class FlowWriter {
  readonly graph: StepGraph = newStepGraph();
  readonly after: Map<t.Node, NodeId> = new Map();
  readonly entry: NodeId = this.graph.addNode({ kind: 'entry' });
  at: NodeId = this.entry;
  /** The step that exceptions lead to; null outside of `try`. */
  handler: NodeId | null = null;
  readonly #references: Scopes['references'];

  constructor(scopes: Scopes) {
    this.#references = scopes.references;
  }

  edge(from: NodeId, to: NodeId, way: Way): void {
    this.graph.addEdge(from, to, way);
  }

  node(step: FlowStep): NodeId {
    const id = this.graph.addNode(step);
    if (this.handler !== null) this.edge(id, this.handler, 'throw');
    return id;
  }

  /** Adds a step after the present one and goes on there. */
  add(step: FlowStep, way: Way = 'next'): NodeId {
    const id = this.node(step);
    this.edge(this.at, id, way);
    this.at = id;
    return id;
  }

  /** A step that others will lead to. */
  join(node?: t.Node): NodeId {
    return this.node(node === undefined ? { kind: 'join' } : { kind: 'join', node });
  }

  goTo(id: NodeId, way: Way = 'next'): void {
    this.edge(this.at, id, way);
    this.at = id;
  }

  /** Goes on where nothing leads: after a jump. */
  unreachable(): void {
    this.at = this.join();
  }

  write(identifier: t.Node, node: t.Node): void {
    const binding = this.#references.get(identifier)?.binding;
    if (binding !== undefined) this.add({ kind: 'write', binding, node });
  }

  read(identifier: t.Node): void {
    const binding = this.#references.get(identifier)?.binding;
    if (binding !== undefined) this.add({ kind: 'read', binding, node: identifier });
  }

  /** Control parts at the present step and comes together again. */
  branch(node: t.Node, test: () => void, then: () => void, otherwise: () => void): void {
    test();
    const from = this.at;
    const after = this.join(node);
    this.add({ kind: 'join' }, 'true');
    then();
    this.edge(this.at, after, 'next');
    this.at = from;
    this.add({ kind: 'join' }, 'false');
    otherwise();
    this.goTo(after);
    this.after.set(node, after);
  }
}
