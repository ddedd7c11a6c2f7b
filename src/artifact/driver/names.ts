import { type Dim, type DimExpr, maxDim, symbol, symbolsOf } from '../../base/dim/index.js';
import { symbolicUpperBound } from '../../passes/groups/room.js';

/** A size that nothing bounds, and where it comes from. */
export class Unbounded {
  /** Null for the number of iterations of a loop, which is `op`. */
  readonly size: string | null;
  readonly op: string;
  readonly source: string | undefined;

  constructor(size: string | null, op: string, source?: string) {
    this.size = size;
    this.op = op;
    this.source = source;
  }
}

/** Upper bound of a value, or why there is none. */
export type UpperBound = Dim | Unbounded;

/** An upper bound that follows from others, if there are all. */
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

/** The names of a routine, and upper bounds of those that memory depends on. */
export class Names {
  readonly #taken: Set<string>;
  readonly #most: Map<string, UpperBound> = new Map();

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  /** A name that nothing else has. */
  fresh(hint: string): DimExpr {
    let name = hint;
    for (let count = 2; this.#taken.has(name); count++) name = `${hint}_${count}`;
    this.#taken.add(name);
    return symbol(name);
  }

  bound(name: string, most: UpperBound): void {
    this.#most.set(name, most);
  }

  /** Another upper bound for a name that has one of several values. */
  boundAlso(name: string, most: UpperBound): void {
    const known = this.#most.get(name);
    this.#most.set(name, known === undefined ? most : boundFrom([known, most], maxDim));
  }

  /** Upper bound of a value, in what is known when the routine starts. */
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
