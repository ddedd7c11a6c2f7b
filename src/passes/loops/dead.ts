import { sameDim } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { Output, Program, Value } from '../../ir/program.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { givesOwnSizes } from '../rewrite/outputs.js';
import { unread } from '../rewrite/unread.js';
import { nodesBehind } from '../../ir/behind.js';
import { build, editLoopSites, type LoopOperand, type Loop, type CarriedValue } from './loop.js';
import { liveStates, valuesBehind } from './liveness.js';

/**
 * Dead code elimination through loops, to a fixed point: unread rows, states that only feed themselves and
 * whose final value is not read, and operands that no iteration reads. Operands of a condition are live. One
 * data array always stays, since it determines the trip count; where it is not read, an array of just its
 * length replaces it. Results that are read do not change.
 */
export function eliminateDeadLoopParts(program: Program): Program {
  let current = program;
  for (;;) {
    const edited = editLoopSites(current, (inner) => {
      const ends = inner.outputs.map(({ value }) => value);
      const read = valuesBehind(inner, ends);
      return ({ loop, id }) => withoutDead(loop, inner, id, read);
    });
    if (edited === current) return current;
    // Operands that a loop no longer reads are dead outside, possibly inside another loop.
    current = eliminateDeadCode(edited);
  }
}

function withoutDead(
  loop: Loop,
  inner: Program,
  id: NodeId,
  read: ReadonlySet<Value>,
): readonly Value[] | undefined {
  const results = inner.results(id);
  const isRead = results.map((value) => read.has(value));
  if (!isRead.includes(true)) return undefined;
  // Sizes that iterations must agree on are checked even if they are not read. The number of joined rows is one of them.
  const mustAgree = givesOwnSizes(loop.body);
  const isWanted = loop.rows.map((_, k) => isRead[k] || mustAgree || k < loop.joined);
  const rows = loop.rows.filter((_, k) => isWanted[k]);
  const isLive = liveStates({ ...loop, data: loop.data.length, states: loop.states.length }, [
    ...isWanted,
    ...isRead.slice(loop.rows.length),
  ]);
  const states = loop.states.filter((_, k) => isLive.states[k]);
  const kept = keptOperands(loop, rows, states);
  const isSame =
    rows.length === loop.rows.length &&
    states.length === loop.states.length &&
    kept.data.length === loop.data.length &&
    kept.data.every((entry, k) => entry === loop.data[k]) &&
    kept.captures.length === loop.captures.length;
  if (isSame) return undefined;
  const made = build({ ...loop, rows, states, ...kept });
  return [
    ...loop.rows.map((row, k) => {
      const place = rows.indexOf(row);
      if (place >= 0) return made.rows[place];
      const { dtype, shape } = loop.node.types[k];
      const length = made.rows[loop.joined]?.type.shape[0] ?? shape[0];
      return unread(loop.into, { dtype, shape: [length, ...shape.slice(1)] });
    }),
    ...loop.states.map((state) => {
      const place = states.indexOf(state);
      return place < 0 ? state.operand : made.states[place];
    }),
    ...made.rest,
  ];
}

/** By region of a loop, the nodes that live values need. */
function nodesRead(
  { body, condition }: Loop,
  rows: readonly Output[],
  states: readonly CarriedValue[],
): ReadonlyMap<Program, ReadonlySet<NodeId>> {
  const behind = (region: Program, ends: readonly Output[]): ReadonlySet<NodeId> =>
    new Set(nodesBehind(region, ends.map(({ value }) => value))); // prettier-ignore
  const found = new Map([[body, behind(body, [...rows, ...states.map(({ next }) => next)])]]);
  if (condition !== null) found.set(condition, behind(condition, condition.outputs));
  return found;
}

function keptOperands(
  loop: Loop,
  rows: readonly Output[],
  states: readonly CarriedValue[],
): Pick<Loop, 'data' | 'captures'> {
  const read = nodesRead(loop, rows, states);
  const isReached = ({ stands }: LoopOperand): boolean =>
    stands.some(({ program, node }) => read.get(program)?.has(node));
  const dead = loop.states.filter((state) => !states.includes(state));
  const data = loop.data.filter(isReached);
  // A reader of a dead state is dead itself, but removed later: until then any value will do.
  const captures = [...loop.captures, ...dead].filter(isReached);
  return { data: data.length === 0 && loop.data.length > 0 ? [shortest(loop)] : data, captures };
}

/** Data for the trip count when none is read: an array of just its length. */
function shortest({ data, into }: Loop): LoopOperand {
  const [{ operand, name }] = data;
  const length = operand.type.shape[0];
  const there = data.find(({ operand: { node, type } }) => {
    const isNothingButShape = into.operands(node).length === 0;
    return isNothingButShape && sameDim(type.shape[0], length);
  });
  return there ?? { operand: unread(into, { dtype: 'bool', shape: [length] }), name, stands: [] };
}
