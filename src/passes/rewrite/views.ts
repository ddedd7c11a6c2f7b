import { type Dim, sameDim } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';

/** True when a node only changes the shape of its operand. */
export function isView(program: Program, id: NodeId): boolean {
  const node = program.node(id);
  return node.kind === 'call' && declarationOf(node.op).lowering.kind === 'view';
}

/** The value behind any number of views. */
export function viewed(program: Program, value: Value): Value {
  let base = value;
  while (isView(program, base.node)) base = program.operands(base.node)[0];
  return base;
}

/** True when one of the nodes reads something through a barrier, looking through views. */
export function readsThroughBarrier(program: Program, nodes: readonly NodeId[]): boolean {
  return nodes.some((id) =>
    program.operands(id).some((operand) => {
      let base = operand;
      while (isView(program, base.node)) {
        const { lowering } = declarationOf((program.node(base.node) as CallNode).op);
        if (lowering.kind === 'view' && lowering.isBarrier === true) return true;
        base = program.operands(base.node)[0];
      }
      return false;
    }),
  );
}

/** True when two shapes of one size differ at most in axes of size 1, so that indices carry over. */
export function sameButForOnes(a: readonly Dim[], b: readonly Dim[]): boolean {
  const wide = (shape: readonly Dim[]): readonly Dim[] => shape.filter((dim) => dim !== 1);
  const [left, right] = [wide(a), wide(b)];
  return left.length === right.length && left.every((dim, axis) => sameDim(dim, right[axis]));
}
