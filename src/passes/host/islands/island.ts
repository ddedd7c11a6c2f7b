import { symbolsOfAttributes } from '../../../base/attributes/schema.js';
import type { NodeId } from '../../../graph/graph.js';
import { symbolsOfTypes, undeterminedSymbols } from '../../../ir/bind.js';
import { type CallNode, type ConstantNode, Program, type Value } from '../../../ir/program.js';
import { verified } from '../../../ir/verify.js';
import { cast, concat, flatten } from '../../../ops/index.js';
import { isExtents } from '../../rewrite/measure.js';

/**
 * Ordinary nodes that run together, as a program whose sizes are all known when it starts. It is passed those that the
 * shapes of what it reads do not determine, and that have the same names in the whole program.
 */
export interface Island {
  readonly program: Program;
  /** Values of the whole program for its inputs. */
  readonly reads: readonly Value[];
  /** Values of the whole program that its outputs are. */
  readonly gives: readonly Value[];
  /** Its nodes in the whole program, ascending. */
  readonly members: readonly NodeId[];
  /**
   * Calls by which it makes sizes from data of which something besides it speaks: its last output, int32, has the sizes
   * of all of them, one behind the other.
   */
  readonly revealed: readonly NodeId[];
}

/** Some nodes of a program as an island. */
export function islandOf(
  whole: Program,
  members: readonly NodeId[],
  reads: readonly Value[],
  gives: readonly Value[],
  revealed: readonly NodeId[] = [],
): Island {
  const calls = members.map((id) => whole.node(id)).filter((node) => node.kind === 'call');
  const spoken = symbolsOfTypes(calls.flatMap(({ types }) => types));
  for (const { op, attributes } of calls) symbolsOfAttributes(op.attributes, attributes, spoken);
  // What the island makes from data itself it is not passed.
  for (const call of calls.filter(isExtents)) {
    for (const name of symbolsOfTypes(call.types).keys()) spoken.delete(name);
  }
  const open = undeterminedSymbols(
    reads.map(({ type }) => type),
    spoken,
  );
  const fill = (into: Program): void => {
    const made = new Map<Value, Value>();
    const moved = (value: Value): Value => made.get(value)!;
    for (const value of reads) {
      const node = whole.node(value.node);
      const hint = node.kind === 'variable' ? node.name : `v${value.node}`;
      made.set(value, into.variable(into.freshName(hint), value.type));
    }
    for (const id of members) {
      const node = whole.node(id) as CallNode | ConstantNode;
      const copies =
        node.kind === 'constant'
          ? [into.constant(node.data)]
          : into.appendNode(node, whole.operands(id).map(moved));
      whole.results(id).forEach((value, port) => made.set(value, copies[port]));
    }
    const outputs = gives.map((value, k) => ({ name: `y${k}`, value: moved(value) }));
    const sizes = revealed.map((id) => flatten(cast(moved(whole.operands(id)[0]), 'int32')));
    if (sizes.length > 0) outputs.push({ name: 'sizes', value: concat(sizes, 0) });
    into.setOutputs(outputs);
  };
  const program = verified('partition', Program.from(whole, fill, open));
  return { program, reads, gives, members, revealed };
}
