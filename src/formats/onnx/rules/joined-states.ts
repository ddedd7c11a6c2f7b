import type { GraphProto, NodeProto } from '../proto/onnx_pb.js';
import { isOnnxNode, withFields } from './row-reads.js';

/**
 * A loop body without the states that only collect: `rows = Concat(rows, row)` joins arrays, `SequenceInsert(list, row)`
 * adds to a sequence.
 */
export interface JoinedStates {
  /** Its outputs are the condition, the other states, the arrays to be joined, those to be added, and the rows. */
  readonly body: GraphProto;
  /** Positions among the states. */
  readonly joined: readonly number[];
  readonly added: readonly number[];
  readonly others: readonly number[];
}

/** Finds states to which each iteration adds an array at the end, and which nothing else reads. */
export function joinedStates(body: GraphProto, states: number): JoinedStates {
  const uses = usesIn(body);
  const isUsedOnce = (name: string): boolean => uses.get(name) === 1;
  const joins = Array.from({ length: states }, (_, k): NodeProto | null => {
    const [before, after] = [body.input[k + 2]?.name, body.output[k + 1]?.name];
    if (before === undefined || after === undefined) return null;
    const join = body.node.find(({ output }) => output[0] === after);
    if (join === undefined || join.input[0] !== before) return null;
    const isAlone = isUsedOnce(before) && isUsedOnce(after);
    return isAlone && (isJoin(join) || isAddition(join)) ? join : null;
  });
  const positionsOf = (belongs: (join: NodeProto | null) => boolean): number[] =>
    [...joins.keys()].filter((k) => belongs(joins[k]));
  const joined = positionsOf((join) => join !== null && isJoin(join));
  const added = positionsOf((join) => join !== null && isAddition(join));
  const others = positionsOf((join) => join === null);
  const [again, ...results] = body.output;
  return {
    body: withFields(body, {
      node: body.node.map((node) => {
        if (!joins.includes(node)) return node;
        const input = node.input.slice(1);
        return isJoin(node) ? withFields(node, { input }) : withFields(node, { opType: 'Identity', input }); // prettier-ignore
      }),
      input: body.input.filter((_, k) => k < 2 || joins[k - 2] === null),
      output: [
        again,
        ...[...others, ...joined, ...added].map((k) => results[k]),
        ...results.slice(states),
      ],
    }),
    joined,
    added,
    others,
  };
}

function isJoin(node: NodeProto): boolean {
  return isOnnxNode(node, 'Concat') && node.attribute.some(({ name, i }) => name === 'axis' && i === 0n); // prettier-ignore
}

/** True for what adds a tensor at the end of a sequence, where no position is given. */
function isAddition(node: NodeProto): boolean {
  return isOnnxNode(node, 'SequenceInsert') && (node.input[2] ?? '') === '';
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
