import { boundsOf, type Dim } from '../../base/dim/index.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { Costs } from '../fuse/cost.js';
import { nominalBytes } from '../rewrite/nominal.js';
import { mayCheck } from '../simplify/checks.js';
import { instantiate } from '../rewrite/transform.js';
import { viewed } from '../rewrite/views.js';
import { nodesBehind } from '../../ir/behind.js';
import { carve } from './carve.js';
import {
  carvedInput,
  editLoops,
  type LoopOperand,
  type Loop,
  places,
  replaceLoop,
} from './loop.js';

/**
 * Loop-invariant code motion: `for t: f(c) + x_t` becomes `y = f(c); for t: y + x_t`, in bodies and
 * conditions. Operators are pure, so no result changes.
 *
 * Only calls that compute move; views, rearrangements and arrays determined by their shape fuse into their
 * readers and stay, unless moved calls need them. A kernel that looks through a rearrangement, as a product
 * with a transposed weight, would rearrange in every iteration, so the rearrangement moves. Elementwise
 * arithmetic whose result is larger than its operands stays as well: reading it would cost more than
 * computing it. Calls that may refuse their elements move only where the region certainly runs.
 */
export function hoistFromLoops(program: Program): Program {
  return editLoops(program, (loop) => {
    const { body, condition, dims, conditionDims } = loop;
    const moved = [
      ...hoisted(loop, body, dims, surelyRuns(loop)),
      // A condition is evaluated at least once.
      ...(condition === null ? [] : hoisted(loop, condition, conditionDims, true)),
    ];
    if (moved.length === 0) return undefined;
    return replaceLoop({
      loop: { ...loop, captures: [...loop.captures, ...moved] },
      rows: places(loop.rows),
      states: places(loop.states),
    });
  });
}

/** True when the body of a loop provably runs at least once. */
export function surelyRuns({ condition, count, lead }: Loop): boolean {
  return condition === null && count === null && lead !== null && boundsOf(lead).min >= 1;
}

/** Moves the invariant calls of a region into the enclosing program; their results become captures. */
function hoisted(
  { into, captures }: Loop,
  region: Program,
  dims: ReadonlyMap<string, Dim>,
  runs: boolean,
): readonly LoopOperand[] {
  const values = worthMoving(region, captures, dims, runs);
  if (values.length === 0) return [];
  const before = carve(region, {
    inputs: captures.map((entry) => carvedInput(entry)),
    outputs: values.map((value) => ({ name: 'hoisted', value })),
  });
  const operands = captures.map(({ operand }) => operand);
  const made = instantiate(before, into, operands, new Map(dims));
  return values.map((value, k) => ({ operand: made[k], name: 'hoisted', stands: [value] }));
}

function worthMoving(
  region: Program,
  captures: readonly LoopOperand[],
  dims: ReadonlyMap<string, Dim>,
  runs: boolean,
): readonly Value[] {
  const invariant = new Set(captures.flatMap(({ stands }) => stands));
  /** By value: bytes of stored values that computing it reads. */
  const read = new Map<Value, number>();
  for (const value of invariant) read.set(value, nominalBytes(value.type));
  const worth = new Set<NodeId>();
  const costs = new Costs(region);
  const inAnyOrder = readInAnyOrder(region);
  for (const id of region.graph.nodes()) {
    const node = region.node(id);
    if (node.kind === 'variable') continue;
    const operands = region.operands(id);
    const results = region.results(id);
    if (!operands.every((value) => invariant.has(value))) continue;
    if (node.kind === 'call' && !isMovable(node, dims, runs)) continue;
    const below = [...new Set(operands)].reduce((sum, value) => sum + read.get(value)!, 0);
    const isWorth =
      node.kind === 'call' &&
      (computes(node, id, costs, below) ||
        (inAnyOrder.has(id) && isRearrangement(node, id, costs, below)));
    if (isWorth) worth.add(id);
    for (const value of results) {
      invariant.add(value);
      read.set(value, isWorth || node.kind === 'constant' ? nominalBytes(value.type) : below);
    }
  }
  if (worth.size === 0) return [];
  const found = new Set<Value>();
  const ends = region.outputs.map(({ value }) => value);
  const isFound = (value: Value): boolean => {
    const moves = worth.has(value.node);
    if (moves) found.add(value);
    return moves;
  };
  nodesBehind(region, ends, isFound);
  return [...found].sort((a, b) => a.node - b.node || a.port - b.port);
}

/** True when a call may run outside of its region, whose symbols are bound by `dims`. */
export function isMovable(call: CallNode, dims: ReadonlyMap<string, Dim>, runs: boolean): boolean {
  const { op, attributes, types } = call;
  const mentioned = symbolsOfTypes(types);
  symbolsOfAttributes(op.attributes, attributes, mentioned);
  const { lowering } = declarationOf(op);
  if (lowering.kind === 'view' && lowering.isBarrier === true) return false;
  return [...mentioned.keys()].every((name) => dims.has(name)) && (runs || !mayRefuse(call));
}

function mayRefuse({ op, regions }: CallNode): boolean {
  return declarationOf(op).check !== undefined || regions.some(mayCheck);
}

/** The nodes whose results, or views of them, are read by kernels that adapt to memory order. */
function readInAnyOrder(region: Program): ReadonlySet<NodeId> {
  const found = new Set<NodeId>();
  for (const [id, node] of region.calls()) {
    const { lowering } = declarationOf(node.op);
    if (lowering.kind !== 'kernel' || lowering.readsAnyOrder !== true) continue;
    for (const operand of region.operands(id)) found.add(viewed(region, operand).node);
  }
  return found;
}

/** True for a call that only reorders the elements of its operand. */
function isRearrangement(call: CallNode, id: NodeId, costs: Costs, read: number): boolean {
  const { kind } = declarationOf(call.op).lowering;
  return kind === 'point' && costs.of(id).work === 0 && nominalBytes(call.types[0]) === read;
}

/** True for a call whose work is worth doing once, given the bytes it would otherwise read. */
function computes(call: CallNode, id: NodeId, costs: Costs, read: number): boolean {
  switch (declarationOf(call.op).lowering.kind) {
    case 'view':
      return false;
    case 'point':
      return read > 0 && costs.of(id).work > 0 && nominalBytes(call.types[0]) <= read;
    default:
      return true;
  }
}
