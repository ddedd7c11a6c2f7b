import { GraphError } from '../base/errors.js';

declare const nodeBrand: unique symbol;
declare const edgeBrand: unique symbol;

/** A node of some graph. Ids are dense, start at 0, and grow in the order of insertion. */
export type NodeId = number & { readonly [nodeBrand]: true };
/** An edge of some graph, numbered like nodes. */
export type EdgeId = number & { readonly [edgeBrand]: true };

/** Ascending ids from 0; grows. An array is walked several times as fast as a generator. */
const ids: NodeId[] = [];

function firstIds(count: number): readonly NodeId[] {
  while (ids.length < count) ids.push(ids.length as NodeId);
  return ids.slice(0, count);
}

/** The widths an adjacency column may have. */
export type IndexArray = Uint8Array | Uint16Array | Uint32Array;
export interface IndexArrayConstructor<Ix extends IndexArray> {
  new (length: number): Ix;
  readonly BYTES_PER_ELEMENT: number;
}

/**
 * A directed multigraph that only grows. Adjacency is four typed-array columns a node and four an edge
 * (linked lists in the manner of petgraph), so a million nodes are a few flat buffers; nodes and edges carry
 * weights of the caller's types. In-edges and out-edges keep the order in which they were added. The largest
 * value of `Ix` means "none": reaching it is a `GraphError`.
 */
export class Graph<N, E, Ix extends IndexArray = Uint32Array> {
  readonly #Index: IndexArrayConstructor<Ix>;
  readonly #none: number;
  readonly #nodes: N[] = [];
  readonly #edges: E[] = [];
  #source: Ix;
  #target: Ix;
  // The lists of edges, which hold the first `#linkedEdges` edges and `#linkedNodes` nodes: made when somebody
  // first walks along edges, which most of the graphs that passes build never see.
  #firstIn: Ix;
  #lastIn: Ix;
  #firstOut: Ix;
  #lastOut: Ix;
  #nextIn: Ix;
  #nextOut: Ix;
  #linkedNodes = 0;
  #linkedEdges = 0;

  constructor(Index: IndexArrayConstructor<Ix>, capacity: number = 16) {
    this.#Index = Index;
    this.#none = 2 ** (8 * Index.BYTES_PER_ELEMENT) - 1;
    this.#source = this.#column(capacity);
    this.#target = this.#column(capacity);
    const empty = this.#column(0);
    this.#firstIn = this.#lastIn = this.#firstOut = this.#lastOut = empty;
    this.#nextIn = this.#nextOut = empty;
  }

  #column(length: number): Ix {
    return new this.#Index(Math.min(length, this.#none));
  }

  /** Node weights by id; grows with the graph. */
  get weights(): readonly N[] {
    return this.#nodes;
  }

  get nodeCount(): number {
    return this.#nodes.length;
  }

  get edgeCount(): number {
    return this.#edges.length;
  }

  addNode(weight: N): NodeId {
    const id = this.#claim(this.#nodes.length, 'nodes');
    this.#nodes.push(weight);
    return id as NodeId;
  }

  addEdge(source: NodeId, target: NodeId, weight: E): EdgeId {
    const { length } = this.#nodes;
    if (!(source >= 0 && source < length && target >= 0 && target < length)) {
      this.#checkNode(source);
      this.#checkNode(target);
    }
    const id = this.#claim(this.#edges.length, 'edges');
    if (id === this.#source.length) {
      this.#source = this.#grown(this.#source, 2 * id);
      this.#target = this.#grown(this.#target, 2 * id);
    }
    this.#source[id] = source;
    this.#target[id] = target;
    this.#edges.push(weight);
    return id as EdgeId;
  }

  /** Brings the lists of edges up to date. */
  #link(): void {
    const nodes = this.#nodes.length;
    const edges = this.#edges.length;
    if (this.#linkedNodes === nodes && this.#linkedEdges === edges) return;
    if (nodes > this.#firstIn.length) {
      this.#firstIn = this.#grown(this.#firstIn, nodes);
      this.#lastIn = this.#grown(this.#lastIn, nodes);
      this.#firstOut = this.#grown(this.#firstOut, nodes);
      this.#lastOut = this.#grown(this.#lastOut, nodes);
    }
    if (edges > this.#nextIn.length) {
      this.#nextIn = this.#grown(this.#nextIn, edges);
      this.#nextOut = this.#grown(this.#nextOut, edges);
    }
    for (const column of [this.#firstIn, this.#lastIn, this.#firstOut, this.#lastOut]) {
      column.fill(this.#none, this.#linkedNodes, nodes);
    }
    for (let id = this.#linkedEdges; id < edges; id++) {
      const source = this.#source[id];
      const target = this.#target[id];
      this.#nextIn[id] = this.#nextOut[id] = this.#none;
      const lastIn = this.#lastIn[target];
      if (lastIn === this.#none) this.#firstIn[target] = id;
      else this.#nextIn[lastIn] = id;
      this.#lastIn[target] = id;
      const lastOut = this.#lastOut[source];
      if (lastOut === this.#none) this.#firstOut[source] = id;
      else this.#nextOut[lastOut] = id;
      this.#lastOut[source] = id;
    }
    this.#linkedNodes = nodes;
    this.#linkedEdges = edges;
  }

  node(id: NodeId): N {
    // Hot path: a weight that is present needs no bounds check.
    const weight = this.#nodes[id];
    if (weight === undefined) this.#checkNode(id);
    return weight;
  }

  edge(id: EdgeId): E {
    this.#checkEdge(id);
    return this.#edges[id];
  }

  source(id: EdgeId): NodeId {
    this.#checkEdge(id);
    return this.#source[id] as NodeId;
  }

  target(id: EdgeId): NodeId {
    this.#checkEdge(id);
    return this.#target[id] as NodeId;
  }

  /** Every node that there is now, in the order of insertion. */
  nodes(): readonly NodeId[] {
    return firstIds(this.#nodes.length);
  }

  /** The edges that end in `id`, in the order of insertion. */
  *inEdges(id: NodeId): IterableIterator<EdgeId> {
    this.#checkNode(id);
    this.#link();
    for (let e = this.#firstIn[id]; e !== this.#none; e = this.#nextIn[e]) yield e as EdgeId;
  }

  /** The edges that start in `id`, in the order of insertion. */
  *outEdges(id: NodeId): IterableIterator<EdgeId> {
    this.#checkNode(id);
    this.#link();
    for (let e = this.#firstOut[id]; e !== this.#none; e = this.#nextOut[e]) yield e as EdgeId;
  }

  /** `inEdges` without an iterator, for loops over whole graphs. */
  forEachInEdge(id: NodeId, visit: (edge: EdgeId) => void): void {
    this.#checkNode(id);
    this.#link();
    for (let e = this.#firstIn[id]; e !== this.#none; e = this.#nextIn[e]) visit(e as EdgeId);
  }

  forEachSuccessor(id: NodeId, visit: (successor: NodeId) => void): void {
    this.#checkNode(id);
    this.#link();
    for (let e = this.#firstOut[id]; e !== this.#none; e = this.#nextOut[e]) {
      visit(this.#target[e] as NodeId);
    }
  }

  forEachPredecessor(id: NodeId, visit: (predecessor: NodeId) => void): void {
    this.#checkNode(id);
    this.#link();
    for (let e = this.#firstIn[id]; e !== this.#none; e = this.#nextIn[e]) {
      visit(this.#source[e] as NodeId);
    }
  }

  #claim(next: number, what: string): number {
    if (next >= this.#none) {
      throw new GraphError(`this graph is full: its index type holds ${this.#none} ${what}`, {
        op: 'Graph',
        advice: 'build the graph with a wider index type, such as Uint32Array',
      });
    }
    return next;
  }

  /** A wider column with the same beginning. */
  #grown(column: Ix, least: number): Ix {
    const wider = this.#column(Math.max(16, least));
    wider.set(column);
    return wider;
  }

  #checkNode(id: NodeId): void {
    if (!(id >= 0 && id < this.#nodes.length)) {
      throw new GraphError(`no node ${id} in a graph of ${this.#nodes.length} nodes`, {
        op: 'Graph',
      });
    }
  }

  #checkEdge(id: EdgeId): void {
    if (!(id >= 0 && id < this.#edges.length)) {
      throw new GraphError(`no edge ${id} in a graph of ${this.#edges.length} edges`, {
        op: 'Graph',
      });
    }
  }
}
