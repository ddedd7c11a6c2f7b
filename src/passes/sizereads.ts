import type { NodeId } from '../graph/graph.js';
import type { Program, Value } from '../ir/program.js';
import { ownSymbols, symbolsOfCall } from './ownsymbols.js';

const none: readonly Value[] = [];

/**
 * What calls need beside their operands: the values whose making binds the sizes that they speak of.
 * A call that comes after them in the program must stay behind them when groups are merged and ordered.
 */
export class SizeReads {
  readonly #program: Program;
  readonly #own: ReadonlyMap<string, NodeId>;

  constructor(program: Program) {
    this.#program = program;
    this.#own = ownSymbols(program);
  }

  of(id: NodeId): readonly Value[] {
    if (this.#own.size === 0) return none;
    const node = this.#program.node(id);
    if (node.kind !== 'call') return none;
    const makers = new Set<NodeId>();
    for (const name of symbolsOfCall(node)) {
      const maker = this.#own.get(name);
      if (maker !== undefined && maker !== id) makers.add(maker);
    }
    return [...makers].map((maker) => this.#program.results(maker)[0]);
  }
}
