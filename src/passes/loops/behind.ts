import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Output, Program, Value } from '../../ir/program.js';
import { valuesAtEntry } from './ahead.js';
import { isBatchable } from './batching.js';
import { nodesBehind } from '../../ir/behind.js';
import {
  areStackable,
  rowBytes,
  bytesOfRows,
  type Dependence,
  dependences,
  isDear,
  isKernel,
} from './dependence.js';
import { isMovable } from './hoist.js';
import { build, editLoops, type Loop, mayStoreRows } from './loop.js';

/**
 * Sinks row-parallel work behind a loop: computes for all rows at once whatever no later iteration needs:
 * `for t: y_t = h_t @ v` becomes `for t: h_t; y = h @ v`, where the T products are one. Results are equal up
 * to the order of summation in products.
 *
 * Done for products and other kernels, and their dependents. Their operands become rows of the loop, unless
 * they can be computed elementwise from existing rows; an iteration may store as many bytes for that as it no
 * longer writes and reads (the rows that move, and invariant operands of their products, such as `v`), and as
 * many again as there are rows of: memory for rows at most doubles. Loops over a count of rows stay
 * unchanged: beyond the count rows are zero.
 */
export function sinkRowWork(program: Program): Program {
  return editLoops(program, batchBehind);
}

function batchBehind(loop: Loop): readonly Value[] | undefined {
  if (!mayStoreRows(loop) || loop.count !== null) return undefined;
  const { rows, states } = loop;
  const depends = dependences(loop);
  const late = lateNodes(loop, depends);
  const moved = rows.filter(({ value }) => late.dear.has(value.node));
  if (moved.length === 0) return undefined;
  const kept = rows.filter((row) => !moved.includes(row));
  const there = new Set(kept.map(({ value }) => value));
  const found = storedBehind(loop, moved, late, depends, there);
  const further = [...found].filter((value) => !there.has(value));
  const [before, after] = [moved.map(({ value }) => value), further].map(sumOfBytes);
  const saved = before + sharedBytes(loop, moved, found, depends);
  if (after > saved + bytesOfRows(loop)) return undefined;
  const emitted = [...kept, ...further.map((value): Output => ({ name: 'kept', value }))];
  const made =
    emitted.length + states.length === 0
      ? { rows: [], states: [] }
      : build({ ...loop, rows: emitted });
  const given = new Map(
    emitted.map(({ value }, k) => [value, { value: made.rows[k], isBatched: true }]),
  );
  const outside = valuesAtEntry(loop, given);
  return [
    ...rows.map((row) =>
      moved.includes(row) ? outside.stacked(row.value) : made.rows[kept.indexOf(row)],
    ),
    ...made.states,
  ];
}

const sumOfBytes = (values: readonly Value[]): number =>
  values.reduce((sum, value) => sum + rowBytes(value), 0);

/** The calls that only rows need, and that can be batched over all of them. */
interface LateNodes {
  readonly all: ReadonlySet<NodeId>;
  /** Calls that are, or depend on, kernels among them: the reason to move them. */
  readonly dear: ReadonlySet<NodeId>;
}

function lateNodes(loop: Loop, depends: ReadonlyMap<Value, Dependence>): LateNodes {
  const { body, rows, states } = loop;
  const blocked = new Set(
    nodesBehind(
      body,
      states.map(({ next }) => next.value),
    ),
  );
  const all = new Set<NodeId>();
  const dear = new Set<NodeId>();
  const live = nodesBehind(
    body,
    rows.map(({ value }) => value),
  );
  for (const id of live.toReversed()) {
    const node = body.node(id);
    const isLate =
      node.kind === 'call' &&
      !blocked.has(id) &&
      canMove(loop, id, node, depends) &&
      body.results(id).every((value) => depends.get(value) === 'past');
    if (isLate) all.add(id);
    else for (const operand of body.operands(id)) blocked.add(operand.node);
  }
  for (const id of live) {
    if (!all.has(id)) continue;
    if (isKernel(body, id) || body.operands(id).some(({ node }) => dear.has(node))) dear.add(id);
  }
  return { all, dear };
}

/** True when a call can be made behind a loop, for all rows at once. */
function canMove(
  loop: Loop,
  id: NodeId,
  node: CallNode,
  depends: ReadonlyMap<Value, Dependence>,
): boolean {
  const operands = loop.body.operands(id);
  const isBatched = operands.map((operand) => depends.get(operand) !== 'nothing');
  return (
    isBatchable(node, isBatched, loop.lead ?? 0) &&
    isMovable(node, loop.dims, true) &&
    areStackable(operands, loop)
  );
}

/**
 * The values that the loop has to return so that rows can be computed behind it, in as few bytes as possible.
 */
function storedBehind(
  loop: Loop,
  moved: readonly Output[],
  late: LateNodes,
  depends: ReadonlyMap<Value, Dependence>,
  there: ReadonlySet<Value>,
): ReadonlySet<Value> {
  const { body } = loop;
  const stored = new Set<Value>();
  const read = new Map<Value, number>();
  for (const id of body.graph.nodes()) {
    const node = body.node(id);
    const operands = [...new Set(body.operands(id))];
    const below = operands.reduce((sum, value) => sum + read.get(value)!, 0);
    const isCheap = node.kind === 'call' && !isDear(body, id) && canMove(loop, id, node, depends);
    for (const value of body.results(id)) {
      const own = there.has(value) ? 0 : rowBytes(value);
      const isElsewhere = depends.get(value) !== 'past';
      // Values that the loop needs as well are recomputed only where that takes fewer rows.
      const isBetter = late.all.has(id) ? own < below : own <= below || !isCheap;
      const isStored = !isElsewhere && isBetter && !late.dear.has(id);
      if (isStored) stored.add(value);
      read.set(value, isElsewhere ? 0 : isStored ? own : below);
    }
  }
  const found = new Set<Value>();
  nodesBehind(
    body,
    moved.map(({ value }) => value),
    (value) => {
      if (stored.has(value)) found.add(value);
      return stored.has(value) || depends.get(value) !== 'past';
    },
  );
  return found;
}

/** The invariant bytes that the moved kernels read in every iteration. */
function sharedBytes(
  { body }: Loop,
  moved: readonly Output[],
  found: ReadonlySet<Value>,
  depends: ReadonlyMap<Value, Dependence>,
): number {
  const shared = new Set<Value>();
  const isGiven = (value: Value): boolean => found.has(value) || depends.get(value) !== 'past';
  for (const id of nodesBehind(
    body,
    moved.map(({ value }) => value),
    isGiven,
  )) {
    if (!isKernel(body, id)) continue;
    for (const value of body.operands(id)) if (depends.get(value) === 'nothing') shared.add(value);
  }
  return sumOfBytes([...shared]);
}
