import type { NodeId } from '../graph/graph.js';
import { type Program, sameType } from '../ir/program.js';
import { turnedFrom } from '../ops/movement/transpose.js';
import { declarationOf } from './facets.js';
import { throughRegions, transform } from './transform.js';

/**
 * Makes at once in the order in which they are read what operators can make in another one:
 * `swapaxes(matmul(swapaxes(x), g))`, the gradient of a transposed weight, becomes `matmul(swapaxes(g), x)`,
 * which an update then continues element by element. Only where nothing else reads the other order, and nothing
 * is added: sums may be rounded otherwise, so this is no law.
 */
export function turnProducts(program: Program): Program {
  return throughRegions(program, (inner, region) => {
    const reads = countReads(inner);
    return transform(
      inner,
      ({ id, operands: [operand], into }) => {
        const [result] = inner.results(id);
        const made = turnedFrom(result);
        if (made === null || reads[made.node] !== 1) return undefined;
        const producer = into.node(operand.node);
        if (producer.kind !== 'call') return undefined;
        const { turned } = declarationOf(producer.op);
        const inputs = into.operands(operand.node);
        const value = turned === undefined ? null : into.assuming(() => turned(inputs));
        return value === null || !sameType(value.type, result.type) ? undefined : [value];
      },
      { region, wanted: (call) => call.types.length === 1 && call.types[0].shape.length >= 2 },
    );
  });
}

/** How often the results of each node are read, outputs included. */
function countReads(program: Program): readonly number[] {
  const reads = Array.from({ length: program.graph.nodeCount }, () => 0);
  const count = (node: NodeId): void => void reads[node]++;
  for (const id of program.graph.nodes()) program.operands(id).forEach(({ node }) => count(node));
  for (const { value } of program.outputs) count(value.node);
  return reads;
}
