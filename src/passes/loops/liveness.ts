import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import type { TensorType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { symbolsOfCall } from '../../ir/size-sources.js';

/*
 * What values need, told apart by result even of loops: a state that only feeds itself is not needed for
 * the others, however deep the loops in which it does so.
 */

/**
 * The values that some values of a program need, themselves included; among them those that bring sizes
 * that another one or a check of the program speaks of.
 */
export function valuesBehind(program: Program, ends: readonly Value[]): ReadonlySet<Value> {
  const needed = new Set(ends);
  for (let id = program.graph.nodeCount - 1; id >= 0; id--) {
    const node = program.node(id as NodeId);
    const isRead = program.results(id as NodeId).map((value) => needed.has(value));
    if (node.kind !== 'check' && !isRead.includes(true)) continue;
    for (const value of program.sizeReads(id as NodeId)) needed.add(value);
    const operands = program.operands(id as NodeId);
    const reads = node.kind === 'call' ? operandsRead(node, isRead) : null;
    operands.forEach((value, k) => {
      if (reads === null || reads[k] !== false) needed.add(value);
    });
  }
  return needed;
}

/** The inputs among `others` without which `kept` would not determine the sizes of themselves and some nodes. */
export function sizeCarriers(
  region: Program,
  nodes: Iterable<NodeId>,
  kept: readonly Value[],
  others: readonly Value[],
): readonly Value[] {
  const declared = symbolsOfTypes(typesOf(region.inputs));
  for (const { key } of region.sizes) declared.delete(key);
  if (declared.size === 0) return [];
  const mentioned = new Set(symbolsOfTypes(typesOf(kept)).keys());
  for (const id of nodes) {
    const node = region.node(id);
    if (node.kind === 'call') for (const name of symbolsOfCall(node)) mentioned.add(name);
  }
  const carriers: Value[] = [];
  for (const name of mentioned) {
    if (!declared.has(name)) continue;
    for (const value of others) {
      if (determinedSymbols(typesOf([...kept, ...carriers])).has(name)) break;
      if (symbolsOfTypes([value.type]).has(name)) carriers.push(value);
    }
  }
  return carriers;
}

function typesOf(values: readonly Value[]): readonly TensorType[] {
  return values.map(({ type }) => type);
}

/**
 * Live states of a loop, given which of its rows and states are read; and live inputs of its regions,
 * including those needed for their sizes only.
 */
export function liveStates(
  { body, condition, data, states }: LoopRegions,
  isRead: readonly boolean[],
): { readonly states: readonly boolean[]; readonly inputs: readonly boolean[] } {
  const rows = body.outputs.length - states;
  const inputs = body.inputs.map(() => false);
  const needed = new Set<Value>();
  const reach = (region: Program, ends: readonly Value[]): void => {
    for (const value of valuesBehind(region, ends)) needed.add(value);
    region.inputs.forEach((value, k) => (inputs[k] ||= needed.has(value)));
  };
  const results = body.outputs.map(({ value }) => value);
  if (condition !== null) reach(condition, [condition.outputs[0].value]);
  reach(
    body,
    results.slice(0, rows).filter((_, k) => isRead[k]),
  );
  const live = Array.from({ length: states }, () => false);
  for (let grows = true; grows;) {
    grows = false;
    for (let k = 0; k < states; k++) {
      if (live[k] || !(isRead[rows + k] || inputs[data + k])) continue;
      live[k] = true;
      grows = true;
      reach(body, [results[rows + k]]);
    }
  }
  // A dead state can determine a size: its initial value replaces it.
  for (const region of condition === null ? [body] : [condition, body]) {
    const nodes = [...needed].filter(({ program }) => program === region).map(({ node }) => node);
    const kept = region.inputs.filter((_, k) => inputs[k]);
    const others = region.inputs.filter((_, k) => !inputs[k]);
    for (const carrier of sizeCarriers(region, nodes, kept, others)) {
      inputs[region.inputs.indexOf(carrier)] = true;
    }
  }
  return { states: live, inputs };
}

interface LoopRegions {
  readonly body: Program;
  readonly condition: Program | null;
  readonly data: number;
  readonly states: number;
}

/** Operands of a loop that its live results need, including all beyond the end of the list; null: all. */
function operandsRead(node: CallNode, isRead: readonly boolean[]): readonly boolean[] | null {
  const { lowering } = declarationOf(node.op);
  if (lowering.kind === 'foreach') {
    const { data, states } = lowering.loop(node.attributes);
    const body = node.regions[0];
    const found = liveStates({ body, condition: null, data, states }, isRead);
    // The first data array determines the trip count.
    return withStates(found, data).map((read, k) => read || k === 0);
  }
  if (lowering.kind === 'while') {
    const { states } = lowering.loop(node.attributes);
    const [condition, body] = node.regions;
    return withStates(liveStates({ body, condition, data: 0, states }, isRead), 0);
  }
  return null;
}

/** A live state needs its initial value, even if the body does not read it. */
function withStates(
  { states, inputs }: ReturnType<typeof liveStates>,
  data: number,
): readonly boolean[] {
  return inputs.map((read, k) => read || (states[k - data] ?? false));
}
