import { sameDim, symbolsOf } from '../../base/dim.js';
import { symbolsOfAttributes } from '../../base/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import type { Output, Program, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { fill } from '../../ops/movement/fill.js';
import { eliminateDeadCode } from '../dce.js';
import { carve, nodesBehind } from './carve.js';
import { build, carvedInput, editLoopSites, type Entry, type Loop, type State } from './loop.js';
import { liveStates, valuesBehind } from './liveness.js';

/**
 * Dead code elimination through loops, until nothing is left to drop: rows that nobody reads, states
 * that only feed themselves and whose final value nobody reads, and operands that no iteration reads. What
 * a condition reads is alive. One array to iterate over always stays, since it says how often; where
 * it is not read, one of nothing but its length takes its place. Results that are read do not change.
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
    // What a loop reads no more is dead outside, which may be the inside of another loop.
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
  const rows = loop.rows.filter((_, k) => isRead[k]);
  const isLive = liveStates(
    { ...loop, data: loop.data.length, states: loop.states.length },
    isRead,
  );
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

/** Something of a type, for a result that nobody reads. */
function unread(into: Program, { dtype, shape }: TensorType): Value {
  return into.append(fill.declaration, [], { shape, value: 0, dtype })[0];
}

/** The inputs that the regions of a loop read for what is alive, if only in loops of their own. */
function inputsRead(
  { body, condition }: Loop,
  rows: readonly Output[],
  states: readonly State[],
): ReadonlySet<Value> {
  const found = new Set<Value>();
  const reach = (region: Program, ends: readonly Output[]): void => {
    const values = ends.map(({ value }) => value);
    for (const id of nodesBehind(region, values)) {
      if (region.node(id).kind === 'variable') found.add(region.results(id)[0]);
    }
  };
  if (condition !== null) reach(condition, condition.outputs);
  reach(body, [...rows, ...states.map(({ next }) => next)]);
  return found;
}

function keptOperands(
  loop: Loop,
  rows: readonly Output[],
  states: readonly State[],
): Pick<Loop, 'data' | 'captures'> {
  const reached = inputsRead(loop, rows, states);
  const isReached = ({ stands }: Entry): boolean => stands.some((value) => reached.has(value));
  const dead = loop.states.filter((state) => !states.includes(state));
  let data = loop.data.filter(isReached);
  // What reads a dead state is dead, but dies only when its turn comes: any value will do until then.
  let captures = [...loop.captures, ...dead].filter(isReached);
  // Dimensions that the regions speak of must still be found from what they are given.
  const dropped = [...loop.data, ...dead, ...loop.captures].filter((entry) => !isReached(entry));
  for (const region of [loop.body, ...(loop.condition === null ? [] : [loop.condition])]) {
    const ends =
      region === loop.body ? [...rows, ...states.map(({ next }) => next)] : region.outputs;
    const carriers = carriersOfDims(region, ends, [...data, ...states, ...captures], dropped);
    data = loop.data.filter((entry) => data.includes(entry) || carriers.includes(entry));
    captures = [...loop.captures, ...dead].filter(
      (entry) => captures.includes(entry) || carriers.includes(entry),
    );
  }
  if (data.length === 0 && loop.data.length > 0) data = [shortest(loop)];
  return { data, captures };
}

/** Those of the entries that are dropped without which a region could not know its dimensions. */
function carriersOfDims(
  region: Program,
  ends: readonly Output[],
  kept: readonly Entry[],
  dropped: readonly Entry[],
): readonly Entry[] {
  const declared = symbolsOfTypes(region.inputs.map(({ type }) => type));
  if (declared.size === 0) return [];
  const typesOf = (entries: readonly Entry[]): readonly TensorType[] =>
    entries.flatMap(({ stands }) =>
      stands.filter(({ program }) => program === region).map(({ type }) => type),
    );
  const all = [...kept, ...dropped];
  const remaining = carve(region, {
    inputs: all.map((entry) => carvedInput(entry)),
    outputs: ends,
  });
  const spoken = symbolsOfTypes(typesOf(kept));
  for (const id of remaining.graph.nodes()) {
    const node = remaining.node(id);
    if (node.kind !== 'call') continue;
    symbolsOfTypes(node.types).forEach((bounds, name) => spoken.set(name, bounds));
    symbolsOfAttributes(node.op.attributes, node.attributes, spoken);
  }
  const carriers: Entry[] = [];
  for (const name of spoken.keys()) {
    if (!declared.has(name)) continue;
    const isKnown = (): boolean => determinedSymbols(typesOf([...kept, ...carriers])).has(name);
    for (const entry of dropped) {
      if (isKnown()) break;
      if (symbolsOfTypes(typesOf([entry])).has(name)) carriers.push(entry);
    }
  }
  return carriers;
}

/**
 * What to iterate over where nothing of it is read: something that costs nothing to have, if its length
 * follows from the sizes of inputs; else the first of the data, which say how often the loop runs.
 */
function shortest({ data, into }: Loop): Entry {
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
