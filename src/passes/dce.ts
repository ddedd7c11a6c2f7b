import type { NodeId } from '../graph/graph.js';
import type { Program } from '../ir/program.js';
import { ownSymbols, requiredOwnSymbols, symbolsOfCall } from './ownsymbols.js';
import { throughRegions, transform } from './transform.js';

/**
 * Dead code elimination: drops the calls and constants that no output needs, in regions too. Inputs
 * always stay: they are the program's signature. What finds sizes in data stays unless an input tells
 * them; of the program itself, only the first `telling` inputs do.
 */
export function eliminateDeadCode(
  program: Program,
  telling: number = program.inputs.length,
): Program {
  return throughRegions(program, (inner, region) => {
    const live = liveNodes(inner, inner === program ? telling : inner.inputs.length);
    return transform(inner, () => undefined, {
      region,
      keep: (id) => live[id] === 1,
      wanted: () => false,
    });
  });
}

/**
 * A flag for every node: 1 when an output depends on it, or a live node speaks of a size that the data of
 * this node decides, or the program requires something of such a size. One backward sweep.
 */
function liveNodes(program: Program, telling: number = program.inputs.length): Uint8Array {
  const { graph } = program;
  const own = ownSymbols(program, program.inputs.slice(0, telling));
  const live = new Uint8Array(graph.nodeCount);
  for (const { value } of program.outputs) live[value.node] = 1;
  for (const introducer of requiredOwnSymbols(program, own).values()) live[introducer] = 1;
  for (let id = graph.nodeCount - 1; id >= 0; id--) {
    if (live[id] === 0) continue;
    const node = program.node(id as NodeId);
    if (own.size > 0 && node.kind === 'call') {
      for (const name of symbolsOfCall(node)) {
        const introducer = own.get(name);
        if (introducer !== undefined) live[introducer] = 1;
      }
    }
    graph.forEachPredecessor(id as NodeId, (operand) => {
      live[operand] = 1;
    });
  }
  return live;
}
