import { type Dim, type DimExpr, symbol, symbolsOf } from '../../base/dim/index.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { symbolicUpperBound } from '../../passes/groups/room.js';
import { symbolsOfCall } from '../../ir/size-sources.js';

/** A size that nothing bounds, and where it comes from. */
export class Unbounded {
  readonly size: string;
  readonly op: string;
  readonly source: string | undefined;

  constructor(size: string, op: string, source?: string) {
    this.size = size;
    this.op = op;
    this.source = source;
  }
}

/** A value that another never exceeds, or why there is none. */
export type UpperBound = Dim | Unbounded;

/** What follows from bounds, if there are any. */
export function boundFrom(
  bounds: readonly UpperBound[],
  join: (...bounds: readonly Dim[]) => UpperBound,
): UpperBound {
  const dims: Dim[] = [];
  for (const bound of bounds) {
    if (bound instanceof Unbounded) return bound;
    dims.push(bound);
  }
  return join(...dims);
}

/** The names of a routine: the sizes that it is given, those that it finds, and its own variables. */
export class Names {
  readonly #taken: Set<string> = new Set();
  readonly #most: Map<string, UpperBound> = new Map();

  constructor(program: Program) {
    const given = symbolsOfTypes(program.inputs.map(({ type }) => type));
    for (const name of given.keys()) this.#taken.add(name);
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      if (node.kind !== 'call') continue;
      for (const name of symbolsOfCall(node)) this.#taken.add(name);
    }
  }

  /** A name that nothing else has; with `most`, a size that memory depends on. */
  fresh(hint: string, most?: UpperBound): DimExpr {
    let name = hint;
    for (let count = 2; this.#taken.has(name); count++) name = `${hint}_${count}`;
    this.#taken.add(name);
    if (most !== undefined) this.#most.set(name, most);
    return symbol(name);
  }

  /** Says of a size that the routine finds what it is at most. */
  bound(name: string, most: UpperBound): void {
    this.#most.set(name, most);
  }

  /** The most that a value can be, in what is known when the routine starts. */
  most(value: Dim): UpperBound {
    const own = [...symbolsOf(value)].filter((name) => this.#most.has(name));
    if (own.length === 0) return value;
    return boundFrom(
      own.map((name) => this.#most.get(name)!),
      (...dims) => {
        const bounds = new Map(own.map((name, k) => [name, dims[k]]));
        const has = (name: string): boolean => bounds.has(name);
        return symbolicUpperBound(value, { has, most: (name) => bounds.get(name)! }) ?? new Unbounded(String(value), 'this graph'); // prettier-ignore
      },
    );
  }
}
