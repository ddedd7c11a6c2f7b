import { sameDim, symbolsOf } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import { determinedSymbols } from '../../ir/bind.js';
import type { Output, Program, Value } from '../../ir/program.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { unread } from '../rewrite/unread.js';
import { nodesBehind } from '../../ir/behind.js';
import { build, editLoopSites, type LoopOperand, type Loop, type CarriedValue } from './loop.js';
import { liveStates, sizeCarriers, valuesBehind } from './liveness.js';

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
  // Sizes that iterations must agree on are checked even if they are not read.
  const isWanted = loop.rows.map((row, k) => isRead[k] || loop.agreed.has(row.value));
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
      return place < 0 ? unread(loop.into, loop.node.types[k]) : made.rows[place];
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
  let data = loop.data.filter(isReached);
  // A reader of a dead state is dead itself, but removed later: until then any value will do.
  let captures = [...loop.captures, ...dead].filter(isReached);
  // Dimensions in the regions must still be determined by their inputs.
  const dropped = [...loop.data, ...dead, ...loop.captures].filter((entry) => !isReached(entry));
  for (const [region, nodes] of read) {
    const inputsOf = (entries: readonly LoopOperand[]): readonly Value[] =>
      entries.flatMap(({ stands }) => stands.filter(({ program }) => program === region));
    const kept = inputsOf([...data, ...states, ...captures]);
    const carriers = sizeCarriers(region, nodes, kept, inputsOf(dropped));
    const isKept = (entry: LoopOperand): boolean =>
      data.includes(entry) ||
      captures.includes(entry) ||
      entry.stands.some((value) => carriers.includes(value));
    data = loop.data.filter(isKept);
    captures = [...loop.captures, ...dead].filter(isKept);
  }
  if (data.length === 0 && loop.data.length > 0) data = [shortest(loop)];
  return { data, captures };
}

/**
 * Data for the trip count when none is read: a free array, if its length follows from the sizes of inputs;
 * else the first data array.
 */
function shortest({ data, into }: Loop): LoopOperand {
  const [first] = data;
  const length = first.operand.type.shape[0];
  const known = determinedSymbols(into.inputs.map(({ type }) => type));
  if (![...symbolsOf(length)].every((name) => known.has(name))) return first;
  const there = data.find(({ operand }) => {
    const isNothingButShape = into.operands(operand.node).length === 0;
    return isNothingButShape && sameDim(operand.type.shape[0], length);
  });
  const operand = (): Value => unread(into, { dtype: 'bool', shape: [length] });
  return there ?? { operand: operand(), name: first.name, stands: [] };
}
