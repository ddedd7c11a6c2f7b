import type { NodeId } from '../graph/graph.js';
import type { Program, Value } from './program.js';

/**
 * The nodes needed for some values, ascending, where others are given; including those that decide sizes in
 * the types of others.
 */
export function nodesBehind(
  program: Program,
  ends: readonly Value[],
  isGiven: (value: Value) => boolean = () => false,
): readonly NodeId[] {
  const needed = new Uint8Array(program.graph.nodeCount);
  const mark = (value: Value): void => {
    if (!isGiven(value)) needed[value.node] = 1;
  };
  ends.forEach(mark);
  const found: NodeId[] = [];
  for (let id = needed.length - 1; id >= 0; id--) {
    if (needed[id] === 0) continue;
    found.push(id as NodeId);
    program.operands(id as NodeId).forEach(mark);
    for (const { node } of program.sizeReads(id as NodeId)) needed[node] = 1;
  }
  return found.reverse();
}
