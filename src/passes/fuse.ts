import type { NodeId } from '../graph/graph.js';
import type { Program, Value } from '../ir/program.js';
import { declarationOf } from './facets.js';

/** Nodes that become one kernel. */
export interface Group {
  /** The node that gives the loops their shape. */
  readonly anchor: NodeId;
  /** All nodes that are computed inside, ascending. */
  readonly members: readonly NodeId[];
  /** The values from outside that the kernel reads: never a view, always what it views. */
  readonly reads: readonly Value[];
  /** The results that go to memory. */
  readonly writes: readonly Value[];
}

/** What a value views, through any number of views. */
export function viewed(program: Program, value: Value): Value {
  let base = value;
  for (;;) {
    const node = program.node(base.node);
    if (node.kind !== 'call' || declarationOf(node.op).lowering.kind !== 'view') return base;
    base = program.operands(base.node)[0];
  }
}

/** One group for every call that computes something: the program as written. */
export function separate(program: Program): readonly Group[] {
  const groups: Group[] = [];
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call' || declarationOf(node.op).lowering.kind === 'view') continue;
    const reads = new Set(program.operands(id).map((operand) => viewed(program, operand)));
    groups.push({ anchor: id, members: [id], reads: [...reads], writes: program.results(id) });
  }
  return groups;
}
