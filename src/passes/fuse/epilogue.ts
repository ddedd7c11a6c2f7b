import { bytesOf } from '../../base/dtype.js';
import { sameShape } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import { scalarBytes } from '../../loop/language/build.js';
import { computeScalar } from '../../ops/declare/lowering.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Costs } from './cost.js';

/** Combined cost of several point operators. */
export interface Effort {
  /** Arithmetic of one element; an addition is 1. */
  readonly work: number;
  /** Bytes of the widest intermediate scalar. */
  readonly width: number;
}

const nothing: Effort = { work: 0, width: 0 };

/** Cost of two consecutive chains. */
export function together(a: Effort, b: Effort): Effort {
  return { work: a.work + b.work, width: Math.max(a.width, b.width) };
}

export function effortOf(members: Iterable<NodeId>, costs: Costs): Effort {
  let effort = nothing;
  for (const id of members) effort = together(effort, costs.of(id));
  return effort;
}

/**
 * True when an epilogue needs no wider scalars than its kernel, whose vectors have its result's type, and
 * costs no more than it saves.
 */
export function fitsBehind(
  { type }: Value,
  { work, width }: Effort,
  { longestEpilogue }: Costs,
): boolean {
  return work <= longestEpilogue && width <= scalarBytes(computeScalar(type.dtype));
}

/** Point operators that a kernel can compute where it stores its result. */
export interface Continuation {
  readonly kernel: Value;
  readonly effort: Effort;
}

/**
 * For each possible last node of an epilogue, the epilogue. Every operator of it is elementwise and the only
 * reader of its predecessor; none writes more bytes than the kernel would.
 * @param readers The operators that read the results of a node, looking through views.
 */
export function continuations(
  program: Program,
  costs: Costs,
  readers: (id: NodeId) => number,
): ReadonlyMap<NodeId, Continuation> {
  const found = new Map<NodeId, Continuation>();
  const isOutput = new Set(program.outputs.map(({ value }) => value));
  for (const [id, node] of program.calls()) {
    const { lowering } = declarationOf(node.op);
    if (lowering.kind !== 'point' || !lowering.elementwise) continue;
    const [type] = node.types;
    for (const operand of program.operands(id)) {
      if (isOutput.has(operand) || readers(operand.node) !== 1) continue;
      if (!sameShape(operand.type.shape, type.shape)) continue;
      const before = found.get(operand.node) ?? beginning(program, operand);
      if (before === null || bytesOf(type.dtype) > bytesOf(before.kernel.type.dtype)) continue;
      const effort = together(before.effort, costs.of(id));
      if (fitsBehind(before.kernel, effort, costs))
        found.set(id, { kernel: before.kernel, effort });
    }
  }
  return found;
}

/** The empty continuation of a kernel with one result. */
function beginning(program: Program, value: Value): Continuation | null {
  const node = program.node(value.node);
  if (node.kind !== 'call' || program.results(value.node).length > 1) return null;
  if (declarationOf(node.op).lowering.kind !== 'kernel') return null;
  return { kernel: value, effort: nothing };
}
