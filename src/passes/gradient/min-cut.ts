/**
 * A flow network with one source and one sink. Its minimum cut is found by Dinic's algorithm (Dinic,
 * Algorithm for solution of a problem of maximum flow in networks with power estimation, 1970), without
 * recursion, since the chains of deep programs are long.
 */
export class Network {
  readonly source = 0;
  readonly sink = 1;
  /** Edge 2k and edge 2k + 1 are each other's reverse. */
  readonly #ends: number[] = [];
  readonly #left: number[] = [];
  readonly #edges: number[][] = [[], []];

  vertex(): number {
    return this.#edges.push([]) - 1;
  }

  /** An edge that can be cut at a price; `Infinity` for one that must not be. */
  edge(from: number, to: number, capacity: number): void {
    this.#edges[from].push(this.#ends.push(to) - 1);
    this.#left.push(capacity);
    this.#edges[to].push(this.#ends.push(from) - 1);
    this.#left.push(0);
  }

  /**
   * A flag for every vertex: 1 when it lies on the sink's side of a minimum cut, the one nearest to the sink.
   * Without a path of infinite edges there always is one.
   */
  behindLeastCut(): Uint8Array {
    for (;;) {
      const levels = this.#levels();
      if (levels[this.sink] < 0) break;
      this.#block(levels);
    }
    const behind = new Uint8Array(this.#edges.length);
    behind[this.sink] = 1;
    const open = [this.sink];
    while (open.length > 0) {
      for (const edge of this.#edges[open.pop()!]) {
        const from = this.#ends[edge];
        if (behind[from] === 1 || this.#left[edge ^ 1] <= 0) continue;
        behind[from] = 1;
        open.push(from);
      }
    }
    return behind;
  }

  /** The distances from the source along edges with remaining capacity; -1 for unreachable vertices. */
  #levels(): Int32Array {
    const levels = new Int32Array(this.#edges.length).fill(-1);
    levels[this.source] = 0;
    const queue = [this.source];
    for (let at = 0; at < queue.length; at++) {
      for (const edge of this.#edges[queue[at]]) {
        const to = this.#ends[edge];
        if (levels[to] >= 0 || this.#left[edge] <= 0) continue;
        levels[to] = levels[queue[at]] + 1;
        queue.push(to);
      }
    }
    return levels;
  }

  /** Finds a blocking flow: saturates an edge of every shortest path. */
  #block(levels: Int32Array): void {
    const tried = new Int32Array(this.#edges.length);
    const path: number[] = [];
    let at = this.source;
    for (;;) {
      if (at === this.sink) {
        this.#push(path);
        path.length = 0;
        at = this.source;
        continue;
      }
      const edges = this.#edges[at];
      while (tried[at] < edges.length && !this.#leads(edges[tried[at]], levels)) tried[at]++;
      if (tried[at] < edges.length) {
        const edge = edges[tried[at]];
        path.push(edge);
        at = this.#ends[edge];
      } else if (path.length > 0) {
        at = this.#ends[path.pop()! ^ 1];
        tried[at]++;
      } else return;
    }
  }

  #leads(edge: number, levels: Int32Array): boolean {
    return this.#left[edge] > 0 && levels[this.#ends[edge]] === levels[this.#ends[edge ^ 1]] + 1;
  }

  #push(path: readonly number[]): void {
    const flow = path.reduce((least, edge) => Math.min(least, this.#left[edge]), Infinity);
    for (const edge of path) {
      this.#left[edge] -= flow;
      this.#left[edge ^ 1] += flow;
    }
  }
}
