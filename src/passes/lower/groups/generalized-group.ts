import type { Dim } from '../../../base/dim/index.js';
import type { NodeId } from '../../../graph/graph.js';
import { type CallNode, Program, type Value } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { Group } from '../../groups/group.js';
import { isView } from '../../rewrite/views.js';
import type { ValueLocations } from '../nests/scope.js';
import { type KernelSignature, withDimensions } from '../nests/signature.js';

/** A group in a program of its own. */
export interface GeneralizedGroup {
  readonly program: Program;
  readonly group: Group;
  readonly placement: ValueLocations;
}

/** A group with other dimensions: `dims` stand in the place of the sizes of its signature. */
export function generalizedGroup(
  original: Program,
  group: Group,
  { values }: KernelSignature,
  placement: ValueLocations,
  dims: readonly Dim[],
): GeneralizedGroup {
  const program = new Program();
  let at = 0;
  const types = new Map<Value, TensorType>();
  for (const value of values)
    types.set(
      value,
      withDimensions(value.type, () => dims[at++]),
    );
  const moved = new Map<Value, Value>();
  const origins = new Map<Value, Value>();
  const ids = new Map<NodeId, NodeId>();
  const put = (from: Value, to: Value): Value => {
    moved.set(from, to);
    origins.set(to, from);
    return to;
  };
  const append = (id: NodeId, operands: readonly Value[]): readonly Value[] => {
    const call = original.node(id) as CallNode;
    const results = original.results(id);
    const own = results.map((result) => types.get(result)!);
    const made = program.appendTyped(call.op, operands, call.attributes, own, call);
    results.forEach((result, port) => put(result, made[port]));
    return made;
  };
  const move = (value: Value): Value => {
    const known = moved.get(value);
    if (known !== undefined) return known;
    const node = original.node(value.node);
    if (node.kind === 'constant') return put(value, program.constant(node.data));
    if (isView(original, value.node)) {
      return append(value.node, original.operands(value.node).map(move))[value.port];
    }
    return put(value, program.variable(program.freshName('x'), types.get(value)!));
  };
  for (const id of group.members) {
    const [{ node }] = append(id, original.operands(id).map(move));
    ids.set(id, node);
  }
  const nodes = (of: readonly NodeId[]): readonly NodeId[] => of.map((id) => ids.get(id)!);
  return {
    program,
    group: {
      anchors: nodes(group.anchors),
      members: nodes(group.members),
      // Those that only decide sizes are not among the operands.
      reads: group.reads.flatMap((value) => moved.get(value) ?? []),
      writes: group.writes.map(move),
      beside: group.beside.map(move),
      kept: group.kept.map(move),
      reuses: new Map(),
    },
    placement: { placeOf: (value) => placement.placeOf(origins.get(value)!) },
  };
}
