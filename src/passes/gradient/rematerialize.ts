import type { NodeId } from '../../graph/graph.js';
import { Program } from '../../ir/program.js';
import { Copies } from '../rewrite/copies.js';
import { chooseSaved, type SavePolicy } from './keep.js';
import { mergeMarkedLoops } from '../loops/merge-loops.js';

export type { SavePolicy } from './keep.js';

/**
 * Rematerialization in a program that holds a forward and a backward pass, such as a whole training step:
 * values that `policy` does not save are recomputed where backward first needs them. `isBackward` marks the
 * nodes of the backward pass; their dependents count as backward, too.
 */
export function rematerialize(
  given: Program,
  isBackward: (id: NodeId) => boolean,
  policy: SavePolicy,
): Program {
  if (policy === 'all') return given;
  // A loop that backward reruns is recognized as one of forward's only while both have the same operands.
  const { program, isLate: isMarked } = mergeMarkedLoops({ program: given, isLate: isBackward });
  const { graph } = program;
  const late = new Uint8Array(graph.nodeCount);
  for (const id of graph.nodes()) {
    if (isMarked(id)) late[id] = 1;
    graph.forEachPredecessor(id, (operand) => (late[id] |= late[operand]));
  }
  const isLate = (id: NodeId): boolean => late[id] === 1;
  const held = [...program.inputs, ...program.outputs.map(({ value }) => value)];
  const { again } = chooseSaved({ program, isLate, wanted: [], held, policy });
  if (again.size === 0) return program;
  return Program.from(program, (into) => {
    const copies = new Copies(program, into, { nodes: again, isApart: true });
    for (const id of graph.nodes()) copies.add(id, isLate(id));
    into.setOutputs(
      program.outputs.map(({ name, value }) => ({ name, value: copies.early(value) })),
    );
  });
}
