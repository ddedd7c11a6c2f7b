import type { NodeId } from '../../graph/graph.js';
import { type CallNode, type Program, sameType } from '../../ir/program.js';
import { turnedFrom } from '../../ops/movement/transpose.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { throughRegions, transform } from './transform.js';

/**
 * Makes at once in the order in which they are read what operators can make in another one:
 * `swapaxes(matmul(swapaxes(x), g))`, the gradient of a transposed weight, becomes `matmul(swapaxes(g), x)`,
 * which an update then continues element by element. Only where nothing else reads the other order, and nothing
 * is added: sums may be rounded otherwise, so this is no law.
 */
export function turnProducts(program: Program): Program {
  return throughRegions(program, (inner, region) => {
    const candidates = turnable(inner);
    return transform(
      inner,
      ({ operands: [operand], into, node }) => {
        const producer = into.node(operand.node);
        if (producer.kind !== 'call') return undefined;
        const { turned } = declarationOf(producer.op);
        const inputs = into.operands(operand.node);
        const value = turned === undefined ? null : into.assuming(() => turned(inputs));
        const [type] = (node as CallNode).types;
        return value === null || !sameType(value.type, type) ? undefined : [value];
      },
      { region, wanted: (_, id) => candidates.has(id) },
    );
  });
}

/** The transpositions that read alone what could have been made in their order. */
function turnable(program: Program): ReadonlySet<NodeId> {
  const found = new Set<NodeId>();
  let reads: readonly number[] | null = null;
  for (const id of program.graph.nodes()) {
    const results = program.results(id);
    if (results.length !== 1) continue;
    const made = turnedFrom(results[0]);
    if (made === null) continue;
    const producer = program.node(made.node);
    if (producer.kind !== 'call' || declarationOf(producer.op).turned === undefined) continue;
    reads ??= countReads(program);
    if (reads[made.node] === 1) found.add(id);
  }
  return found;
}

/** How often the results of each node are read, outputs included. */
function countReads(program: Program): readonly number[] {
  const reads = Array.from({ length: program.graph.nodeCount }, () => 0);
  const count = (node: NodeId): void => void reads[node]++;
  for (const id of program.graph.nodes()) program.operands(id).forEach(({ node }) => count(node));
  for (const { value } of program.outputs) count(value.node);
  return reads;
}
