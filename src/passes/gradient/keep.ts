import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import { introducesDims, isFree, recomputable } from './effort.js';
import { Network } from './min-cut.js';
import { nominalBytes } from '../rewrite/nominal.js';

/**
 * What a forward pass keeps for its backward pass. Never changes a result. Bytes are counted beyond
 * inputs and outputs, which are there anyway.
 *
 * - `'all'`: everything that backward reads; nothing is computed again.
 * - `'auto'`: as few bytes as can be without computing anything dear again.
 * - `'none'`: the inputs and the outputs; everything else is computed again.
 * - a number: as much as fits into so many bytes; as little as possible when nothing fits.
 */
export type SavePolicy = 'all' | 'none' | 'auto' | number;

export interface KeepRequest {
  readonly program: Program;
  /** Whether a node belongs to the backward pass. Nothing else may depend on such nodes. */
  isLate(id: NodeId): boolean;
  /** Values that backward needs besides what its nodes read. */
  readonly wanted: readonly Value[];
  /** Values that are there anyway, the inputs if they are. */
  readonly held: readonly Value[];
  readonly policy: SavePolicy;
  /** Calls that may be computed again whatever the policy says. Default none. */
  readonly isRepeatable?: (id: NodeId) => boolean;
  /** Whether a value that is not held can be kept at all; calls that give others are computed again. */
  readonly isKeepable?: (value: Value) => boolean;
  /** What a call cannot do without besides its operands. Default nothing. */
  readonly behind?: (id: NodeId) => readonly Value[];
}

export interface Kept {
  /** The forward nodes that backward computes again. */
  readonly again: ReadonlySet<NodeId>;
  /** The forward values, constants apart, that backward and those nodes read. */
  readonly values: readonly Value[];
}

/**
 * Chooses what is kept: the least bytes on a cut between what must be kept and what backward reads, and of
 * equal cuts the one that computes least again (as functorch's min-cut partitioner for PyTorch does, He
 * and others, 2022). A node that may not be computed again has to be on the near side of the cut.
 *
 * For a number of bytes the calls that may be computed again grow one by one, from the cheapest on, until
 * the cut is small enough. More of them never make it larger, so their number is found by bisection.
 */
export function chooseKept(request: KeepRequest): Kept {
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
  const keeping = (allowed: readonly NodeId[]): Kept =>
    readingFrom(source, needed, leastCut(source, needed, new Set([...allowed, ...repeated])));
  const bytes = ({ values }: Kept): number =>
    values.reduce((sum, value) => sum + (free.has(value) ? 0 : nominalBytes(value.type)), 0);

  if (policy === 'all') return keeping(forward.filter((id) => isFree(program, id)));
  if (policy === 'none') {
    return keeping(forward.filter((id) => !introducesDims(program, id)));
  }
  const { order, free: none, cheap } = recomputable(program, forward);
  const first = (count: number): Kept => keeping(order.slice(0, count));
  if (policy === 'auto') return first(cheap);
  let [low, high] = [none, order.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bytes(first(middle)) <= policy) high = middle;
    else low = middle + 1;
  }
  return first(low);
}

/** The values that can be kept or computed again. */
interface Source {
  readonly program: Program;
  /** What is needed to compute the results of a node. */
  readonly needs: (id: NodeId) => readonly Value[];
  /** What keeping a value costs. */
  readonly price: (value: Value) => number;
}

/**
 * The calls behind the cut. In the network a call is a vertex that reads what it reads and cannot be
 * parted from it; each of its results is a vertex, and the edge to it costs what keeping it costs.
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

/** What is read when these nodes are computed again. */
function readingFrom(
  { program, needs }: Source,
  needed: readonly Value[],
  again: ReadonlySet<NodeId>,
): Kept {
  const values = new Set<Value>();
  const seen = new Set<Value>(needed);
  for (const value of seen) {
    if (again.has(value.node)) for (const operand of needs(value.node)) seen.add(operand);
    else if (program.node(value.node).kind !== 'constant') values.add(value);
  }
  return { again, values: [...values] };
}
