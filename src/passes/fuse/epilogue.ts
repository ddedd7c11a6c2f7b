import { bytesOf } from '../../base/dtype.js';
import { sameShape } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import { scalarBytes } from '../../loop/language/build.js';
import { computeScalar } from '../../ops/declare/lowering.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Costs } from './cost.js';

/**
 * The most arithmetic behind each result of a product. It is written out for every register of every
 * tile, so a long one makes a large kernel, which takes longer to compile than a pass of its own ever
 * takes to run: the update of an optimizer fits, activations with a polynomial do not.
 */
const longestEpilogue = 24;

/** What some point operators take together. */
export interface Effort {
  /** Arithmetic of one element, where an addition is 1. */
  readonly work: number;
  /** The bytes of the widest scalar on the way. */
  readonly width: number;
}

const nothing: Effort = { work: 0, width: 0 };

/** What two chains take, one behind the other. */
export function together(a: Effort, b: Effort): Effort {
  return { work: a.work + b.work, width: Math.max(a.width, b.width) };
}

export function effortOf(members: Iterable<NodeId>, costs: Costs): Effort {
  let effort = nothing;
  for (const id of members) effort = together(effort, costs.of(id));
  return effort;
}

/**
 * Whether an epilogue takes no wider scalars than its kernel, whose vectors hold those of its result,
 * and is no longer than what it saves.
 */
export function fitsBehind({ type }: Value, { work, width }: Effort): boolean {
  return work <= longestEpilogue && width <= scalarBytes(computeScalar(type.dtype));
}

/** Point operators that a kernel could compute where it stores its result. */
export interface Continuation {
  readonly kernel: Value;
  readonly effort: Effort;
}

/**
 * For the nodes that could be the end of an epilogue: what that would be. Every operator of it is
 * elementwise and alone in reading what it continues; none writes more bytes than the kernel would.
 * @param readers The operators that read the results of a node, views looked through.
 */
export function continuations(
  program: Program,
  costs: Costs,
  readers: (id: NodeId) => number,
): ReadonlyMap<NodeId, Continuation> {
  const found = new Map<NodeId, Continuation>();
  const isOutput = new Set(program.outputs.map(({ value }) => value));
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    const { lowering } = declarationOf(node.op);
    if (lowering.kind !== 'point' || !lowering.elementwise) continue;
    const [type] = node.types;
    for (const operand of program.operands(id)) {
      if (isOutput.has(operand) || readers(operand.node) !== 1) continue;
      if (!sameShape(operand.type.shape, type.shape)) continue;
      const before = found.get(operand.node) ?? beginning(program, operand);
      if (before === null || bytesOf(type.dtype) > bytesOf(before.kernel.type.dtype)) continue;
      const effort = together(before.effort, costs.of(id));
      if (fitsBehind(before.kernel, effort)) found.set(id, { kernel: before.kernel, effort });
    }
  }
  return found;
}

/** What continues nothing yet, behind a kernel with one result. */
function beginning(program: Program, value: Value): Continuation | null {
  const node = program.node(value.node);
  if (node.kind !== 'call' || program.results(value.node).length > 1) return null;
  if (declarationOf(node.op).lowering.kind !== 'kernel') return null;
  return { kernel: value, effort: nothing };
}
