import type { NodeId } from '../../graph/graph.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { nominalBytes } from '../rewrite/nominal.js';
import { isBatchable } from './batching.js';
import { isMovable, surelyRuns } from './hoist.js';
import type { Loop } from './loop.js';

/** Dependence of a value of a body, which decides if it can be computed outside of the loop. */
export type Dependence =
  /** Loop-invariant. */
  | 'nothing'
  /** Depends on the row of the data, by operators that can be batched. */
  | 'row'
  /** Depends on earlier iterations, or in an unknown way. */
  | 'past';

/** Dependence of each value of a body. */
export function dependences(loop: Loop): ReadonlyMap<Value, Dependence> {
  const { body, data, states, captures, dims } = loop;
  const found = new Map<Value, Dependence>();
  const mark = (values: readonly Value[], dependence: Dependence): void => {
    for (const value of values) found.set(value, dependence);
  };
  for (const { stands } of data) mark(stands, 'row');
  for (const { stands } of states) mark(stands, 'past');
  for (const { stands } of captures) mark(stands, 'nothing');
  const runs = surelyRuns(loop);
  for (const id of body.graph.nodes()) {
    const node = body.node(id);
    if (node.kind === 'variable' || node.kind === 'check') continue;
    const results = body.results(id);
    if (node.kind === 'constant') {
      mark(results, 'nothing');
      continue;
    }
    const below = body.operands(id).map((operand) => found.get(operand)!);
    // A call for no row refuses none of its elements, which a call outside could that has the same for every row.
    const checked = declarationOf(node.op).check?.operand;
    const isSafe = runs || (checked !== undefined && below[checked] === 'row');
    const isMoving = isMovable(node, dims, isSafe) && !below.includes('past');
    if (!isMoving) mark(results, 'past');
    else if (!below.includes('row')) mark(results, 'nothing');
    else {
      const isBatched = below.map((dependence) => dependence === 'row');
      mark(results, isBatchable(node, isBatched, loop.lead ?? 0) ? 'row' : 'past');
    }
  }
  return found;
}

/** True for a call that is expensive enough to batch: a fold, or a kernel that computes. */
export function isDear(body: Program, id: NodeId): boolean {
  const node = body.node(id);
  if (node.kind !== 'call') return false;
  return declarationOf(node.op).lowering.kind === 'reduce' || isKernel(body, id);
}

/** True for a custom loop nest that does more than move elements. */
export function isKernel(body: Program, id: NodeId): boolean {
  const node = body.node(id);
  if (node.kind !== 'call') return false;
  const { family, lowering } = declarationOf(node.op);
  return lowering.kind === 'kernel' && family !== 'movement';
}

/** True when no size of these values is determined by the body itself: only then their rows can be stacked. */
export function areStackable(values: readonly Value[], { dims }: Loop): boolean {
  return [...symbolsOfTypes(values.map(({ type }) => type)).keys()].every((name) => dims.has(name));
}

/** The bytes of the rows that an iteration reads and writes. */
export function bytesOfRows({ data, rows }: Loop): number {
  const values = [...data.map(({ stands }) => stands[0]), ...rows.map(({ value }) => value)];
  return values.reduce((sum, value) => sum + rowBytes(value), 0);
}

/** The bytes of one row of a value. */
export function rowBytes(value: Value): number {
  return nominalBytes(value.type);
}
