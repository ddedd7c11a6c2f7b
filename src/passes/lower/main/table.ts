import { type Dim, type DimExpr, symbol, symbolsOf } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import { sizeExpression } from '../../../loop/language/extents.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import type { ScratchArgument } from '../nests/builder.js';

/** Positions of sizes and addresses in the table of `main`. */
export interface TableLayout {
  /** Type of addresses, which take one word of the table each, or two. */
  readonly addresses: AddressScalar;
  /** The entry of a symbolic size. */
  sizeEntry(dim: DimExpr): number;
  placeEntry(place: number): number;
  /**
   * The entry of new memory that kernels work in from a step on; where each of several threads has some, that of
   * the first, with those of the others behind it.
   */
  scratchEntry(
    memory: Pick<ScratchArgument, 'name' | 'dtype' | 'length'>,
    first: number,
    options?: { readonly last?: number; readonly threads?: number },
  ): number;
  /**
   * Entries of the buffer that a step keeps from run to run: that of its memory, by thread as for
   * `scratchEntry`, and that of its state.
   */
  keptEntries(step: number): { readonly memory: number; readonly state: number };
  /** The variable that holds the address of a location; undefined for a place. */
  variableOf(location: number): Var | undefined;
  /** The places that a location may lie in. */
  placesOf(location: number): readonly number[];
  /** The last step that needs a place. */
  lastStepOf(place: number): number;
}

/**
 * Reads of `main`: sizes and addresses from its table, and the conditions and counts that kernels leave in
 * memory. A loop reads nothing of the table again that was read before it.
 */
export class TableReader {
  readonly #table: TableLayout;
  readonly #entries: Buffer = e.buffer('table', 'i32');
  /** The table once more, as addresses; null where they are words. */
  readonly #wide: Buffer | null;
  readonly #loads: Map<number, Expr> = new Map();
  /** The table never changes, so what loops read of it they read once. */
  readonly #kept: Map<number, { readonly local: Var; readonly load: Expr }> = new Map();
  #depth = 0;
  /** The sizes that the program has found itself. */
  readonly #bound: Map<string, Var> = new Map();
  #words: Buffer | null = null;
  #bytes: Buffer | null = null;
  /** The addresses of memory that each thread has for itself, by the entry of that of the first. */
  readonly #own: Map<number, Var> = new Map();

  constructor(table: TableLayout) {
    this.#table = table;
    this.#wide = table.addresses === 'i64' ? e.buffer('addresses', 'i64') : null;
  }

  /**
   * The table, twice where addresses are wide; and all of memory, as words and as bytes, where that is read or
   * `main` takes it anyway.
   */
  buffers(takesMemory: boolean): readonly Buffer[] {
    const table = this.#wide === null ? [this.#entries] : [this.#entries, this.#wide];
    if (!takesMemory && this.#words === null && this.#bytes === null) return table;
    return [...table, this.words, this.#byteBuffer()];
  }

  /** The locals that are declared before all else; `thread` is the number of the thread in its team. */
  declarations(thread: Var | null): readonly Stmt[] {
    return [
      ...[...this.#kept.values()].map(({ local, load }) => e.declare(local, load)),
      ...[...this.#own].map(([entry, local]) => {
        const [from, first] = this.#placed(entry);
        return e.declare(local, e.load(from, e.add(thread!, first)));
      }),
    ];
  }

  /** Runs what prints something that is repeated. */
  repeated<R>(print: () => R): R {
    this.#depth++;
    const result = print();
    this.#depth--;
    return result;
  }

  /** A local for a size that the program finds itself. */
  bind(name: string): Var {
    const local = e.variable(name, 'i32');
    this.#bound.set(name, local);
    return local;
  }

  /** A local for the address of memory that each thread has for itself, by the entry of that of the first. */
  own(entry: number): Var {
    const local = e.variable(`t${entry}`, this.#table.addresses);
    this.#own.set(entry, local);
    return local;
  }

  /** A truth value in memory. */
  flag(location: number): Expr {
    return e.ne(e.load(this.#byteBuffer(), this.address(location)), 0);
  }

  /** An int32 in memory. */
  word(location: number, index: number = 0): Expr {
    return this.wordAt(this.address(location), index);
  }

  /** An int32 behind an address in memory. */
  wordAt(address: Expr, index: number = 0): Expr {
    // Addresses of 32 bits have no sign, those of 64 are distances.
    const first = this.#wide === null ? e.shrU(address, 2) : e.shr(address, 2);
    return e.load(this.words, index === 0 ? first : e.add(first, index));
  }

  /** An address that `main` has left in memory, behind others. */
  addressAt(address: Expr, index: number): Expr {
    if (this.#wide === null) return this.wordAt(address, index);
    const [low, high] = [0, 1].map((k) => e.cast('i64', this.wordAt(address, 2 * index + k)));
    return e.or(e.and(low, e.constant('i64', 0xffffffff)), e.shl(high, 32));
  }

  /** The address of what lies some elements of some bytes behind another address. */
  offset(address: Expr, elements: Expr, bytes: Expr): Expr {
    const { addresses } = this.#table;
    return e.add(address, e.mul(e.cast(addresses, elements), e.cast(addresses, bytes)));
  }

  /** All of memory as words. */
  get words(): Buffer {
    return (this.#words ??= e.buffer('words', 'i32'));
  }

  #byteBuffer(): Buffer {
    return (this.#bytes ??= e.buffer('bytes', 'u8'));
  }

  size(dim: Dim): Expr {
    if (typeof dim === 'number') return e.i32(dim);
    const isBound = [...symbolsOf(dim)].some((name) => this.#bound.has(name));
    if (!isBound) return this.load(this.#table.sizeEntry(dim));
    return sizeExpression(dim, (name, bounds) => {
      return this.#bound.get(name) ?? this.load(this.#table.sizeEntry(symbol(name, bounds)));
    });
  }

  address(location: number): Expr {
    return this.#table.variableOf(location) ?? this.loadAddress(this.#table.placeEntry(location));
  }

  /** A word of the table. */
  load(entry: number): Expr {
    return this.#read(entry, this.#entries, entry);
  }

  /** An address in the table. */
  loadAddress(entry: number): Expr {
    return this.#read(entry, ...this.#placed(entry));
  }

  /** Buffer and index from which the address of an entry is read. */
  #placed(entry: number): readonly [Buffer, number] {
    return this.#wide === null ? [this.#entries, entry] : [this.#wide, entry / 2];
  }

  #read(entry: number, from: Buffer, index: number): Expr {
    let load = this.#loads.get(entry);
    if (load === undefined) this.#loads.set(entry, (load = e.load(from, index)));
    const kept = this.#kept.get(entry);
    if (this.#depth === 0) return kept?.local ?? load;
    if (kept !== undefined) return kept.local;
    const local = e.variable(`t${entry}`, from === this.#wide ? 'i64' : 'i32');
    this.#kept.set(entry, { local, load });
    return local;
  }
}
