import type { NodeId } from '../../graph/graph.js';
import type { Program } from '../../ir/program.js';
import { isRootCall } from '../../ops/declare/facets.js';
import { throughRegions, transform } from './transform.js';

/**
 * Dead code elimination: drops the calls and constants that no output and no root needs, in regions too.
 * Inputs always stay: they are the program's signature.
 *
 * @param roots `drop` where something else makes the checks of the program.
 */
export function eliminateDeadCode(program: Program, roots: 'keep' | 'drop' = 'keep'): Program {
  return throughRegions(program, (inner, region) => {
    const live = liveNodes(inner, roots === 'keep');
    return transform(inner, () => undefined, {
      region,
      keep: (id) => live[id] === 1,
      wanted: () => false,
    });
  });
}

/**
 * A flag for every node: 1 for checks and root calls, for what an output is made of, and for what decides a size
 * that either speaks of. One backward sweep.
 */
function liveNodes(program: Program, keepsRoots: boolean): Uint8Array {
  const { graph } = program;
  const live = new Uint8Array(graph.nodeCount);
  for (const { value } of program.outputs) live[value.node] = 1;
  for (let id = graph.nodeCount - 1; id >= 0; id--) {
    const node = program.node(id as NodeId);
    if (node.kind === 'check') live[id] = 1;
    else if (keepsRoots && node.kind === 'call' && isRootCall(node.op, node.regions)) live[id] = 1;
    if (live[id] === 0) continue;
    const operands = program.operands(id as NodeId);
    for (let i = 0; i < operands.length; i++) live[operands[i].node] = 1;
    for (const value of program.sizeReads(id as NodeId)) live[value.node] = 1;
  }
  return live;
}
