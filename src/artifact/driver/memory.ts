import { addDim, type Dim, type DimExpr, maxDim, subDim } from '../../base/dim/index.js';
import { aligned } from './layout.js';
import { boundFrom, type UpperBound, type Names } from './names.js';
import type { PlacedStatement } from './statements.js';

/** The memory of a routine, from `base` on: what stays, in the order in which it is taken, and free memory behind it. */
export class Memory {
  readonly base: DimExpr;
  /** Bytes of what stays. What is part of a statement sets it back behind it. */
  top: Dim;
  readonly #names: Names;
  readonly #emit: (statement: PlacedStatement) => void;
  readonly #ends: UpperBound[] = [];
  #reserved: Dim = 0;

  constructor(names: Names, top: Dim, emit: (statement: PlacedStatement) => void) {
    this.base = names.fresh('base');
    this.top = top;
    this.#names = names;
    this.#emit = emit;
  }

  /** Address behind everything that stays. */
  get end(): Dim {
    return addDim(this.base, this.top);
  }

  /** The end of the memory that was reserved last. */
  get reserved(): Dim {
    return this.#reserved;
  }

  /** Upper bound of all that is needed, in the sizes that the routine is given. */
  get bytes(): UpperBound {
    return this.#ends.reduce<UpperBound>((all, end) => boundFrom([all, end], maxDim), 0);
  }

  /** Address of memory that stays. */
  take(bytes: Dim): Dim {
    const at = this.end;
    this.top = addDim(this.top, aligned(bytes));
    return at;
  }

  /** Makes memory available for what stays, and for so many bytes behind it. */
  reserve(bytes: Dim = 0): void {
    this.#reserved = addDim(this.end, bytes);
    this.#emit({ kind: 'reserve', end: this.#reserved });
    this.use(this.#names.most(bytes));
  }

  /** Somebody uses at most so many bytes behind what stays. Returns the upper bound of their end. */
  use(bytes: UpperBound): UpperBound {
    const end = boundFrom([this.#names.most(this.top), bytes], addDim);
    this.#ends.push(end);
    return end;
  }

  /** Moves the end of what stays to an address, of which `most` is the upper bound behind `base`. */
  goOnAt(end: DimExpr, most: UpperBound): void {
    const top = this.#names.fresh('top');
    this.#names.bound(top.key, most);
    this.#emit({ kind: 'set', name: top.key, value: subDim(end, this.base) });
    this.top = top;
  }
}
