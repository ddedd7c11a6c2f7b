import { GraphError } from '../base/errors.js';

declare const nodeBrand: unique symbol;
declare const edgeBrand: unique symbol;

/** A node of some graph. Ids are dense, start at 0, and grow in the order of insertion. */
export type NodeId = number & { readonly [nodeBrand]: true };
/** An edge of some graph, numbered like nodes. */
export type EdgeId = number & { readonly [edgeBrand]: true };

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
  #firstIn: Ix;
  #lastIn: Ix;
  #firstOut: Ix;
  #lastOut: Ix;
  #source: Ix;
  #target: Ix;
  #nextIn: Ix;
  #nextOut: Ix;

  constructor(Index: IndexArrayConstructor<Ix>, capacity: number = 16) {
    this.#Index = Index;
    this.#none = 2 ** (8 * Index.BYTES_PER_ELEMENT) - 1;
    const column = (): Ix => new Index(Math.min(capacity, this.#none));
    this.#firstIn = column();
    this.#lastIn = column();
    this.#firstOut = column();
    this.#lastOut = column();
    this.#source = column();
    this.#target = column();
    this.#nextIn = column();
    this.#nextOut = column();
  }

  get nodeCount(): number {
    return this.#nodes.length;
  }

  get edgeCount(): number {
    return this.#edges.length;
  }

  addNode(weight: N): NodeId {
    const id = this.#claim(this.#nodes.length, 'nodes');
    if (id === this.#firstIn.length) {
      this.#firstIn = this.#grown(this.#firstIn);
      this.#lastIn = this.#grown(this.#lastIn);
      this.#firstOut = this.#grown(this.#firstOut);
      this.#lastOut = this.#grown(this.#lastOut);
    }
    this.#firstIn[id] = this.#lastIn[id] = this.#firstOut[id] = this.#lastOut[id] = this.#none;
    this.#nodes.push(weight);
    return id as NodeId;
  }

  addEdge(source: NodeId, target: NodeId, weight: E): EdgeId {
    this.#checkNode(source);
    this.#checkNode(target);
    const id = this.#claim(this.#edges.length, 'edges');
    if (id === this.#source.length) {
      this.#source = this.#grown(this.#source);
      this.#target = this.#grown(this.#target);
      this.#nextIn = this.#grown(this.#nextIn);
      this.#nextOut = this.#grown(this.#nextOut);
    }
    this.#source[id] = source;
    this.#target[id] = target;
    this.#nextIn[id] = this.#nextOut[id] = this.#none;
    const lastIn = this.#lastIn[target];
    if (lastIn === this.#none) this.#firstIn[target] = id;
    else this.#nextIn[lastIn] = id;
    this.#lastIn[target] = id;
    const lastOut = this.#lastOut[source];
    if (lastOut === this.#none) this.#firstOut[source] = id;
    else this.#nextOut[lastOut] = id;
    this.#lastOut[source] = id;
    this.#edges.push(weight);
    return id as EdgeId;
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

  /** Every node, in the order of insertion. */
  *nodes(): IterableIterator<NodeId> {
    for (let id = 0; id < this.#nodes.length; id++) yield id as NodeId;
  }

  /** The edges that end in `id`, in the order of insertion. */
  *inEdges(id: NodeId): IterableIterator<EdgeId> {
    this.#checkNode(id);
    for (let e = this.#firstIn[id]; e !== this.#none; e = this.#nextIn[e]) yield e as EdgeId;
  }

  /** The edges that start in `id`, in the order of insertion. */
  *outEdges(id: NodeId): IterableIterator<EdgeId> {
    this.#checkNode(id);
    for (let e = this.#firstOut[id]; e !== this.#none; e = this.#nextOut[e]) yield e as EdgeId;
  }

  /** `inEdges` without an iterator, for loops over whole graphs. */
  forEachInEdge(id: NodeId, visit: (edge: EdgeId) => void): void {
    this.#checkNode(id);
    for (let e = this.#firstIn[id]; e !== this.#none; e = this.#nextIn[e]) visit(e as EdgeId);
  }

  forEachSuccessor(id: NodeId, visit: (successor: NodeId) => void): void {
    this.#checkNode(id);
    for (let e = this.#firstOut[id]; e !== this.#none; e = this.#nextOut[e]) {
      visit(this.#target[e] as NodeId);
    }
  }

  forEachPredecessor(id: NodeId, visit: (predecessor: NodeId) => void): void {
    this.#checkNode(id);
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

  #grown(column: Ix): Ix {
    const wider = new this.#Index(Math.min(this.#none, Math.max(16, column.length * 2)));
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
