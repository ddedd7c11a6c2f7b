import { isFloat } from '../../base/dtype.js';
import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';

/** The ancestors of the outputs that are not older than the oldest of `wrt`, ascending. */
export function nodesBetween(
  program: Program,
  wrt: readonly Value[],
  outputs: readonly Value[],
): readonly NodeId[] {
  const first = wrt.reduce((least, { node }) => Math.min(least, node), Infinity);
  const last = outputs.reduce((most, { node }) => Math.max(most, node), -1);
  const seen = new Uint8Array(Math.max(0, last - first + 1));
  for (const { node } of outputs) if (node >= first) seen[node - first] = 1;
  const found: NodeId[] = [];
  // Operands have smaller ids, so one descending sweep finds every ancestor.
  for (let id = last; id >= first; id--) {
    if (seen[id - first] === 0) continue;
    found.push(id as NodeId);
    for (const { node } of program.operands(id as NodeId))
      if (node >= first) seen[node - first] = 1;
  }
  return found.reverse();
}

/** The values among the nodes through which a gradient can reach `wrt`. */
export function carriers(
  program: Program,
  nodes: readonly NodeId[],
  wrt: ReadonlySet<Value>,
): ReadonlySet<Value> {
  const carries = new Set<Value>();
  for (const id of nodes) {
    const node = program.node(id);
    const through =
      node.kind === 'call' &&
      declarationOf(node.op).gradient !== 'none' &&
      program.operands(id).some((operand) => carries.has(operand));
    for (const result of program.results(id)) {
      if ((through || wrt.has(result)) && isFloat(result.type.dtype)) carries.add(result);
    }
  }
  return carries;
}
