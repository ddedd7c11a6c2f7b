import { type Dim, type DimExpr, type DimOperation, fold, symbol, symbolsOf } from '../../../base/dim/index.js'; // prettier-ignore
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { ScratchArgument } from '../nests/builder.js';

/** Where `main` finds sizes and addresses in its table. */
export interface TableLayout {
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
   * Where a step finds what it keeps from run to run: the entry of its memory, by thread as for `scratchEntry`, and
   * that of its state.
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
 * What `main` reads: sizes and addresses from its table, and the conditions and counts that kernels leave
 * in memory. A loop reads nothing of the table again that was read before it.
 */
export class TableReader {
  readonly #table: TableLayout;
  readonly #entries: Buffer = e.buffer('table', 'i32');
  readonly #loads: Map<number, Expr> = new Map();
  /** The table never changes, so what loops read of it they read once. */
  readonly #kept: Map<number, Var> = new Map();
  #depth = 0;
  /** The sizes that the program has found itself. */
  readonly #bound: Map<string, Var> = new Map();
  #words: Buffer | null = null;
  #bytes: Buffer | null = null;
  /** The addresses of memory that each thread has for itself, by the entry of that of the first. */
  readonly #own: Map<number, Var> = new Map();

  constructor(table: TableLayout) {
    this.#table = table;
  }

  /** The table; and all of memory, as words and as bytes, where that is read or `main` takes it anyway. */
  buffers(takesMemory: boolean): readonly Buffer[] {
    if (!takesMemory && this.#words === null && this.#bytes === null) return [this.#entries];
    return [this.#entries, this.words, this.#byteBuffer()];
  }

  /** The locals that are declared before all else; `thread` is the number of the thread in its team. */
  declarations(thread: Var | null): readonly Stmt[] {
    return [
      ...[...this.#kept].map(([entry, local]) => e.declare(local, this.#entry(entry))),
      ...[...this.#own].map(([entry, local]) =>
        e.declare(local, e.load(this.#entries, e.add(thread!, entry))),
      ),
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
    const local = e.variable(`t${entry}`, 'i32');
    this.#own.set(entry, local);
    return local;
  }

  /** A truth value in memory. */
  flag(location: number): Expr {
    return e.ne(e.load(this.#byteBuffer(), this.address(location)), 0);
  }

  /** An int32 in memory. */
  word(location: number, index: number = 0): Expr {
    const first = e.shr(this.address(location), 2);
    return e.load(this.words, index === 0 ? first : e.add(first, index));
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
    return fold<Expr>(dim, {
      constant: (value) => e.i32(value),
      symbol: (name, bounds) =>
        this.#bound.get(name) ?? this.load(this.#table.sizeEntry(symbol(name, bounds))),
      add: (a, b) => e.add(a, b),
      mul: (a, b) => e.mul(a, b),
      operation: (kind, a, b) => sizeOperations[kind](a, b),
    });
  }

  address(location: number): Expr {
    return this.#table.variableOf(location) ?? this.load(this.#table.placeEntry(location));
  }

  load(entry: number): Expr {
    if (this.#depth === 0) return this.#kept.get(entry) ?? this.#entry(entry);
    let local = this.#kept.get(entry);
    if (local === undefined) this.#kept.set(entry, (local = e.variable(`t${entry}`, 'i32')));
    return local;
  }

  #entry(entry: number): Expr {
    let known = this.#loads.get(entry);
    if (known === undefined) this.#loads.set(entry, (known = e.load(this.#entries, entry)));
    return known;
  }
}

/** Of sizes, which are not negative, so that truncation is the floor. */
const sizeOperations: Readonly<Record<DimOperation, (a: Expr, b: Expr) => Expr>> = {
  floorDiv: e.div,
  mod: e.rem,
  min: e.min,
  max: e.max,
};
