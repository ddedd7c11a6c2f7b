import type { NodeId } from '../../graph/graph.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { nominalBytes } from '../rewrite/nominal.js';
import { isBatchable } from './batching.js';
import { isMovable, surelyRuns } from './hoist.js';
import type { Loop } from './loop.js';

/** What a value of a body depends on, as far as it can be computed outside of the loop. */
export type Dependence =
  /** The same in every iteration. */
  | 'nothing'
  /** On the row of the data, by operators that can be applied to all rows at once. */
  | 'row'
  /** On earlier iterations, or in a way that nobody can tell. */
  | 'past';

/** What each value of a body depends on. */
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
    const isMoving = isMovable(node, dims, runs) && !below.includes('past');
    if (!isMoving) mark(results, 'past');
    else if (!below.includes('row')) mark(results, 'nothing');
    else mark(results, isBatchable(node) ? 'row' : 'past');
  }
  return found;
}

/** Whether a call does so much work that it is better done once for all rows: a fold, or a kernel that computes. */
export function isDear(body: Program, id: NodeId): boolean {
  const node = body.node(id);
  if (node.kind !== 'call') return false;
  return declarationOf(node.op).lowering.kind === 'reduce' || isKernel(body, id);
}

/** Whether a call is a loop nest of its own that does not only put elements in other places. */
export function isKernel(body: Program, id: NodeId): boolean {
  const node = body.node(id);
  if (node.kind !== 'call') return false;
  const { family, lowering } = declarationOf(node.op);
  return lowering.kind === 'kernel' && family !== 'movement';
}

/** Whether no size of some values is one that the body itself finds: only then their rows can be stacked. */
export function areStackable(values: readonly Value[], { dims }: Loop): boolean {
  return [...symbolsOfTypes(values.map(({ type }) => type)).keys()].every((name) => dims.has(name));
}

/** The bytes of the rows that an iteration has to do with: those of the data, and those it gives. */
export function bytesOfRows({ data, rows }: Loop): number {
  const values = [...data.map(({ stands }) => stands[0]), ...rows.map(({ value }) => value)];
  return values.reduce((sum, value) => sum + bytesOf(value), 0);
}

/** The bytes of one row of a value. */
export function bytesOf(value: Value): number {
  return nominalBytes(value.type);
}
