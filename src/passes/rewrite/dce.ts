import type { NodeId } from '../../graph/graph.js';
import type { Program } from '../../ir/program.js';
import { throughRegions, transform } from './transform.js';

/**
 * Dead code elimination: drops the calls and constants that no output needs, in regions too. Inputs
 * always stay: they are the program's signature.
 */
export function eliminateDeadCode(program: Program): Program {
  return throughRegions(program, (inner, region) => {
    const live = liveNodes(inner);
    return transform(inner, () => undefined, {
      region,
      keep: (id) => live[id] === 1,
      wanted: () => false,
    });
  });
}

/**
 * A flag for every node: 1 for checks, for what an output is made of, and for what decides a size that either
 * speaks of. One backward sweep.
 */
function liveNodes(program: Program): Uint8Array {
  const { graph } = program;
  const live = new Uint8Array(graph.nodeCount);
  for (const { value } of program.outputs) live[value.node] = 1;
  for (let id = graph.nodeCount - 1; id >= 0; id--) {
    if (program.node(id as NodeId).kind === 'check') live[id] = 1;
    if (live[id] === 0) continue;
    const operands = program.operands(id as NodeId);
    for (let i = 0; i < operands.length; i++) live[operands[i].node] = 1;
    for (const value of program.sizeReads(id as NodeId)) live[value.node] = 1;
  }
  return live;
}
