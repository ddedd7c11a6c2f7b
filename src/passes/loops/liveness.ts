import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { declarationOf } from '../../ops/declare/facets.js';

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
      // The call may be passed its sizes instead.
      else for (const size of sizesDecided(program, value)) needed.add(size);
    });
  }
  return needed;
}

/** Values that reveal the data-decided sizes in the type of a value. */
function sizesDecided({ decidedSizes }: Program, { type }: Value): readonly Value[] {
  if (decidedSizes.size === 0) return [];
  return [...symbolsOfTypes([type]).keys()].flatMap((name) => decidedSizes.get(name) ?? []);
}

/** Live states of a loop, given which of its rows and states are read; and live inputs of its regions. */
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
