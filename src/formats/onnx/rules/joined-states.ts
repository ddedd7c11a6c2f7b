import type { GraphProto, NodeProto } from '../proto/onnx_pb.js';
import { isOnnxNode, withFields } from './row-reads.js';

/** A loop body without the states that only join arrays, as `rows = Concat(rows, row)` does. */
export interface JoinedStates {
  /** Its outputs are the condition, the other states, the arrays to be joined, and the rows. */
  readonly body: GraphProto;
  /** Positions among the states. */
  readonly joined: readonly number[];
  readonly others: readonly number[];
}

/** Finds states to which each iteration adds an array along the first axis, and which nothing else reads. */
export function joinedStates(body: GraphProto, states: number): JoinedStates {
  const uses = usesIn(body);
  const isUsedOnce = (name: string): boolean => uses.get(name) === 1;
  const joins = Array.from({ length: states }, (_, k): NodeProto | null => {
    const [before, after] = [body.input[k + 2]?.name, body.output[k + 1]?.name];
    if (before === undefined || after === undefined) return null;
    const join = body.node.find(({ output }) => output[0] === after);
    const isJoin = join !== undefined && isOnnxNode(join, 'Concat') && join.input[0] === before;
    const isAlone = isUsedOnce(before) && isUsedOnce(after);
    return isJoin && isAlone && join.attribute.some(({ name, i }) => name === 'axis' && i === 0n) ? join : null; // prettier-ignore
  });
  const positions = joins.map((_, k) => k);
  const joined = positions.filter((k) => joins[k] !== null);
  const others = positions.filter((k) => joins[k] === null);
  const [again, ...results] = body.output;
  return {
    body: withFields(body, {
      node: body.node.map((node) =>
        joins.includes(node) ? withFields(node, { input: node.input.slice(1) }) : node,
      ),
      input: body.input.filter((_, k) => k < 2 || joins[k - 2] === null),
      output: [
        again,
        ...others.map((k) => results[k]),
        ...joined.map((k) => results[k]),
        ...results.slice(states),
      ],
    }),
    joined,
    others,
  };
}

/** The number of reads of each name by the nodes of a graph, and of those inside, and by its outputs. */
function usesIn(graph: GraphProto, uses: Map<string, number> = new Map()): Map<string, number> {
  const use = (name: string): void => void uses.set(name, (uses.get(name) ?? 0) + 1);
  for (const { name } of graph.output) use(name);
  for (const { input, attribute } of graph.node) {
    input.forEach(use);
    for (const { g, graphs } of attribute) for (const inner of g === undefined ? graphs : [g]) usesIn(inner, uses); // prettier-ignore
  }
  return uses;
}
