import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program } from '../../ir/program.js';
import { sameType } from '../../ir/types.js';
import { turnedFrom } from '../../ops/movement/transpose.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { throughRegions, transform } from './transform.js';

/**
 * Pushes transpositions into operators that can produce the transposed result: `swapaxes(matmul(swapaxes(x),
 * g))`, the gradient of a transposed weight, becomes `matmul(swapaxes(g), x)`, which an update then continues
 * elementwise. Only where nothing else reads the original, and no call is added: sums may be rounded
 * differently, so this is not a law.
 */
export function pushTranspositions(program: Program): Program {
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

/** The transpositions that are the only readers of a result that could be transposed. */
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

/** Number of reads of each node's results, outputs included. */
function countReads(program: Program): readonly number[] {
  const reads = Array.from({ length: program.graph.nodeCount }, () => 0);
  const count = (node: NodeId): void => void reads[node]++;
  for (const id of program.graph.nodes()) program.operands(id).forEach(({ node }) => count(node));
  for (const { value } of program.outputs) count(value.node);
  return reads;
}
