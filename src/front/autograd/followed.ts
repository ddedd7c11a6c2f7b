import type { NodeId } from '../../graph/graph.js';
import type { Program } from '../../ir/program.js';
import { call } from '../../ops/structure/call.js';
import { stopGradient } from '../../ops/structure/identity.js';
import type { Origin } from '../core/history.js';
import type { NDArray } from '../core/ndarray.js';

const memo = new WeakMap<Program, Map<string, readonly boolean[]>>();

/** The inputs that some outputs depend on, as a recording sees it: not through paused code. */
function followedInputs(program: Program, isUsed: readonly boolean[]): readonly boolean[] {
  let known = memo.get(program);
  if (known === undefined) memo.set(program, (known = new Map<string, readonly boolean[]>()));
  const key = isUsed.map(Number).join('');
  let followed = known.get(key);
  if (followed === undefined) known.set(key, (followed = follow(program, isUsed)));
  return followed;
}

function follow(program: Program, isUsed: readonly boolean[]): readonly boolean[] {
  const { graph } = program;
  const isLive = new Uint8Array(graph.nodeCount);
  program.outputs.forEach(({ value }, k) => {
    if (isUsed[k]) isLive[value.node] = 1;
  });
  for (let n = graph.nodeCount - 1; n >= 0; n--) {
    const id = n as NodeId;
    const node = program.node(id);
    const isStop = node.kind === 'call' && node.op === stopGradient.declaration;
    if (isLive[id] === 0 || isStop) continue;
    for (const operand of program.operands(id)) isLive[operand.node] = 1;
  }
  return program.inputs.map(({ node }) => isLive[node] === 1);
}

/**
 * Predicate of the arrays that `heads` depend on, given the recorded calls in order. A called graph is one
 * call, but each of its results depends only on what its own part of the graph reads.
 */
export function reachedFrom(
  heads: readonly NDArray[],
  origins: readonly Origin[],
): (array: NDArray) => boolean {
  if (!origins.some(({ declaration }) => declaration === call.declaration)) return () => true;
  const reached = new Set(heads);
  for (const { declaration, operands, regions, results } of origins.toReversed()) {
    const isUsed = results.map((result) => reached.has(result));
    if (!isUsed.includes(true)) continue;
    const followed = declaration === call.declaration ? followedInputs(regions[0], isUsed) : null;
    operands.forEach((operand, i) => {
      if (followed === null || followed[i]) reached.add(operand);
    });
  }
  return (array) => reached.has(array);
}
