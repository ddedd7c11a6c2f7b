import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import { introducesDims, isFree, recomputable } from './effort.js';
import { Network } from './min-cut.js';
import { nominalBytes } from '../rewrite/nominal.js';

/**
 * Policy for values that a forward pass saves for its backward pass. Never changes a result. Bytes are
 * counted beyond inputs and outputs, which are available anyway.
 *
 * - `'all'`: everything that backward reads; nothing is recomputed.
 * - `'auto'`: as few bytes as possible without recomputing anything expensive.
 * - `'none'`: only the inputs and outputs; everything else is recomputed.
 * - a number: as much as fits into so many bytes; as little as possible when nothing fits.
 */
export type SavePolicy = 'all' | 'none' | 'auto' | number;

export interface SaveRequest {
  readonly program: Program;
  /** True for nodes of the backward pass. No other node may depend on them. */
  isLate(id: NodeId): boolean;
  /** Values that backward needs besides the operands of its nodes. */
  readonly wanted: readonly Value[];
  /** Values that are available anyway, possibly the inputs. */
  readonly held: readonly Value[];
  readonly policy: SavePolicy;
  /** True for calls that may be recomputed regardless of the policy. Default none. */
  readonly isRepeatable?: (id: NodeId) => boolean;
  /** True for values that can be saved if they are not held; calls that return others are recomputed. */
  readonly isKeepable?: (value: Value) => boolean;
  /** Dependences of a call besides its operands. Default none. */
  readonly behind?: (id: NodeId) => readonly Value[];
}

export interface SavedValues {
  /** The forward nodes that backward recomputes. */
  readonly again: ReadonlySet<NodeId>;
  /** The forward values, constants apart, that backward and those nodes read. */
  readonly values: readonly Value[];
}

/**
 * Chooses the saved values: the least bytes on a cut between values that must be saved and those that
 * backward reads, and of equal cuts the one with the least recomputation (as functorch's min-cut partitioner
 * for PyTorch does, He and others, 2022). A node that may not be recomputed has to be on the near side of the
 * cut.
 *
 * For a byte limit the recomputable calls are added one by one, cheapest first, until the cut is small
 * enough. More of them never make it larger, so their number is found by bisection.
 */
export function chooseSaved(request: SaveRequest): SavedValues {
  const { program, isLate, wanted, held, policy } = request;
  const { isRepeatable = () => false, isKeepable = () => true, behind = () => [] } = request;
  const source: Source = {
    program,
    needs: (id) => [...program.operands(id), ...behind(id)],
    price: (value) => {
      if (free.has(value) || program.node(value.node).kind === 'constant') return 0;
      return isKeepable(value) ? nominalBytes(value.type) : Infinity;
    },
  };
  const forward = [...program.graph.nodes()].filter(
    (id) => program.node(id).kind === 'call' && !isLate(id),
  );
  const reads = new Set<Value>(wanted);
  for (const id of program.graph.nodes()) {
    if (isLate(id)) for (const value of source.needs(id)) reads.add(value);
  }
  const needed = [...reads].filter(({ node }) => !isLate(node));
  const free = new Set(held);
  const repeated = forward.filter(
    (id) =>
      (isRepeatable(id) && !introducesDims(program, id)) ||
      program.results(id).some((value) => !isKeepable(value)),
  );
  const keeping = (allowed: readonly NodeId[]): SavedValues =>
    readingFrom(source, needed, leastCut(source, needed, new Set([...allowed, ...repeated])));
  const bytes = ({ values }: SavedValues): number =>
    values.reduce((sum, value) => sum + (free.has(value) ? 0 : nominalBytes(value.type)), 0);

  if (policy === 'all') return keeping(forward.filter((id) => isFree(program, id)));
  if (policy === 'none') {
    return keeping(forward.filter((id) => !introducesDims(program, id)));
  }
  const { order, free: none, cheap } = recomputable(program, forward);
  const first = (count: number): SavedValues => keeping(order.slice(0, count));
  if (policy === 'auto') return first(cheap);
  let [low, high] = [none, order.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bytes(first(middle)) <= policy) high = middle;
    else low = middle + 1;
  }
  return first(low);
}

/** The values that can be saved or recomputed. */
interface Source {
  readonly program: Program;
  /** Values needed to compute the results of a node. */
  readonly needs: (id: NodeId) => readonly Value[];
  /** Cost of saving a value. */
  readonly price: (value: Value) => number;
}

/**
 * The calls behind the minimum cut. In the network a call is a vertex with infinite edges from its operands;
 * each of its results is a vertex, and the edge to it costs as much as saving it.
 */
function leastCut(
  { needs, price }: Source,
  needed: readonly Value[],
  allowed: ReadonlySet<NodeId>,
): ReadonlySet<NodeId> {
  const network = new Network();
  const calls = new Map<NodeId, number>();
  const values = new Map<Value, number>();
  const open: Value[] = [];
  const vertexOf = (value: Value): number => {
    let vertex = values.get(value);
    if (vertex === undefined) {
      values.set(value, (vertex = network.vertex()));
      open.push(value);
    }
    return vertex;
  };
  for (const value of needed) network.edge(vertexOf(value), network.sink, Infinity);
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    let call = calls.get(value.node);
    if (call === undefined) {
      calls.set(value.node, (call = network.vertex()));
      if (!allowed.has(value.node)) network.edge(network.source, call, Infinity);
      else {
        for (const operand of needs(value.node)) network.edge(vertexOf(operand), call, Infinity);
      }
    }
    network.edge(call, vertexOf(value), price(value));
  }
  const behind = network.behindLeastCut();
  return new Set([...calls].flatMap(([id, vertex]) => (behind[vertex] === 1 ? [id] : [])));
}

/** Values read when these nodes are recomputed. */
function readingFrom(
  { program, needs }: Source,
  needed: readonly Value[],
  again: ReadonlySet<NodeId>,
): SavedValues {
  const values = new Set<Value>();
  const seen = new Set<Value>(needed);
  for (const value of seen) {
    if (again.has(value.node)) for (const operand of needs(value.node)) seen.add(operand);
    else if (program.node(value.node).kind !== 'constant') values.add(value);
  }
  return { again, values: [...values] };
}
