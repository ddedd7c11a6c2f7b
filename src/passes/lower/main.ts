import { type Dim, type DimExpr, type DimOperation, fold, symbol, symbolsOf } from '../../base/dim.js'; // prettier-ignore
import type { DType } from '../../base/dtype.js';
import * as e from '../../loop/build.js';
import type { Buffer, Expr, Kernel, Stmt, Storage, Var } from '../../loop/nodes.js';
import type { LoweredKernel } from './builder.js';
import type {
  BindStep,
  BranchStep,
  ForeachStep,
  Padding,
  Row,
  State,
  Step,
  WhileStep,
} from './steps.js';

/** The name of the kernel that runs a whole program. */
export const mainName = 'main';

/** Where `main` finds sizes and addresses in its table. */
export interface Table {
  /** The entry of a symbolic size. */
  sizeEntry(dim: DimExpr): number;
  placeEntry(place: number): number;
  /** The entry of new memory that a kernel works in at a step. */
  scratchEntry(name: string, dtype: DType, length: Dim, step: number): number;
  /** The variable that holds the address of a location; undefined for a place. */
  variableOf(location: number): Var | undefined;
}

/**
 * The kernel `main`: reads addresses and sizes from a table of i32 and runs the kernels in order, in
 * loops and branches where the program has them. With these, `words` and `bytes` are all of the memory,
 * for the conditions and counts that kernels leave there. Also gives the helpers that it calls.
 */
export function mainKernel(steps: readonly Step[], table: Table): readonly Kernel[] {
  const printer = new MainPrinter(table);
  const body = printer.all(steps);
  return [
    ...printer.helpers(),
    e.kernel(mainName, printer.params(), e.block(...printer.prologue(), ...body)),
  ];
}

class MainPrinter {
  readonly #table: Table;
  readonly #entries: Buffer = e.buffer('table', 'i32');
  readonly #loads: Map<number, Expr> = new Map();
  /** The table never changes, so what loops read of it they read once. */
  readonly #kept: Map<number, Var> = new Map();
  #depth = 0;
  /** The sizes that the program has found itself. */
  readonly #bound: Map<string, Var> = new Map();
  readonly #helpers: Map<string, Kernel> = new Map();
  #words: Buffer | null = null;
  #bytes: Buffer | null = null;

  constructor(table: Table) {
    this.#table = table;
  }

  /** `main` takes all three buffers or only the first. */
  params(): readonly Buffer[] {
    if (this.#words === null && this.#bytes === null) return [this.#entries];
    return [this.#entries, this.#wordBuffer(), this.#byteBuffer()];
  }

  prologue(): readonly Stmt[] {
    return [...this.#kept].map(([entry, local]) => e.declare(local, this.#entry(entry)));
  }

  helpers(): readonly Kernel[] {
    return [...this.#helpers.values()];
  }

  all(steps: readonly Step[]): readonly Stmt[] {
    return steps.flatMap((step) => this.#step(step));
  }

  /** What is repeated. */
  #inside<T>(print: () => T): T {
    this.#depth++;
    const printed = print();
    this.#depth--;
    return printed;
  }

  #step(step: Step): readonly Stmt[] {
    switch (step.kind) {
      case 'kernel':
        return [this.#kernel(step.kernel, step.step)];
      case 'bind':
        return this.#bind(step);
      case 'foreach':
        return this.#foreach(step);
      case 'while':
        return this.#while(step);
      case 'branch':
        return this.#branch(step);
    }
  }

  #kernel(lowered: LoweredKernel, step: number): Stmt {
    const args = lowered.args.map((arg): Expr => {
      if (arg.kind === 'size') return this.#size(arg.dim);
      if (arg.kind === 'place') return this.#address(arg.place);
      return this.#load(this.#table.scratchEntry(arg.name, arg.dtype, arg.length, step));
    });
    return e.call(lowered.kernel, args);
  }

  /** Sizes outside of what there is room for cannot come out of operators that bound their own. */
  #bind({ from, isWide, sizes }: BindStep): readonly Stmt[] {
    return sizes.map(({ name, bounds }, k) => {
      const local = e.variable(name, 'i32');
      this.#bound.set(name, local);
      const size = this.#word(from, isWide ? 2 * k : k);
      const isBounded = bounds.max !== Infinity;
      return e.declare(local, e.max(isBounded ? e.min(size, bounds.max) : size, bounds.min));
    });
  }

  #foreach({ length, reverse, count, rows, states, body, paddings }: ForeachStep): readonly Stmt[] {
    const end = e.variable('rows', 'i32');
    const size = this.#size(length);
    const rowCount = count === null ? size : e.max(e.min(this.#word(count), size), 0);
    const loop = e.forLoop('i', 0, end, (i) => {
      const at = reverse ? e.sub(e.sub(end, 1), i) : i;
      return this.#inside(() =>
        e.block(...this.#rows(rows, at), ...this.all(body), ...swaps(states)),
      );
    });
    return [
      ...this.#states(states),
      e.declare(end, rowCount),
      loop,
      ...paddings.flatMap((padding) => this.#clear(padding, end, size)),
    ];
  }

  #while(step: WhileStep): readonly Stmt[] {
    const { limit, rows, states, condition, predicate, body, paddings, iterations } = step;
    const i = e.variable('i', 'i32');
    const goes = e.variable('goes', 'bool');
    const most = limit === null ? null : this.#size(limit);
    const yes = e.constant('bool', 1);
    const loop = this.#inside(() => {
      const flag = this.#flag(predicate);
      const once = e.block(
        ...this.#rows(rows, i),
        ...this.all(body),
        ...swaps(states),
        e.assign(i, e.add(i, 1)),
      );
      return e.whileLoop(
        goes,
        e.block(
          ...this.all(condition),
          e.assign(goes, most === null ? flag : e.and(flag, e.lt(i, most))),
          e.ifThen(goes, once),
        ),
      );
    });
    return [
      ...this.#states(states),
      e.declare(i, e.i32(0)),
      e.declare(goes, yes),
      loop,
      ...(most === null ? [] : paddings.flatMap((padding) => this.#clear(padding, i, most))),
      ...(iterations === undefined ? [] : [this.#store(iterations, i)]),
    ];
  }

  #branch({ predicate, consequent, alternate }: BranchStep): readonly Stmt[] {
    const [yes, no] = [consequent, alternate].map((steps) => e.block(...this.all(steps)));
    return [e.ifThen(this.#flag(predicate), yes, no)];
  }

  #states(states: readonly State[]): readonly Stmt[] {
    return states.flatMap(({ current, start, next }) => [
      e.declare(current, this.#address(start)),
      ...(next === null ? [] : [e.declare(next.variable, this.#address(next.place))]),
    ]);
  }

  /** The addresses of the rows of one iteration. */
  #rows(rows: readonly Row[], at: Expr): readonly Stmt[] {
    return rows.map(({ variable, of, bytes }) =>
      e.declare(variable, e.add(this.#address(of), e.mul(at, this.#size(bytes)))),
    );
  }

  #clear({ location, storage, elements }: Padding, from: Expr, to: Expr): readonly Stmt[] {
    const size = this.#size(elements);
    const clear = this.#helper(`clear_${storage}`, (name) => clearKernel(name, storage));
    const [begin, end] = ['begin', 'end'].map((name) => e.variable(name, 'i32'));
    return [
      e.declare(begin, e.mul(from, size)),
      e.declare(end, e.mul(to, size)),
      e.call(clear, [this.#address(location), begin, end]),
    ];
  }

  #store(location: number, value: Expr): Stmt {
    return e.call(this.#helper('set_i32', setKernel), [this.#address(location), value]);
  }

  #helper(name: string, make: (name: string) => Kernel): Kernel {
    let kernel = this.#helpers.get(name);
    if (kernel === undefined) this.#helpers.set(name, (kernel = make(name)));
    return kernel;
  }

  /** A truth value in memory. */
  #flag(location: number): Expr {
    return e.ne(e.load(this.#byteBuffer(), this.#address(location)), 0);
  }

  /** An int32 in memory. */
  #word(location: number, index: number = 0): Expr {
    const first = e.shr(this.#address(location), 2);
    return e.load(this.#wordBuffer(), index === 0 ? first : e.add(first, index));
  }

  #wordBuffer(): Buffer {
    return (this.#words ??= e.buffer('words', 'i32'));
  }

  #byteBuffer(): Buffer {
    return (this.#bytes ??= e.buffer('bytes', 'u8'));
  }

  #size(dim: Dim): Expr {
    if (typeof dim === 'number') return e.i32(dim);
    const isBound = [...symbolsOf(dim)].some((name) => this.#bound.has(name));
    if (!isBound) return this.#load(this.#table.sizeEntry(dim));
    return fold<Expr>(dim, {
      constant: (value) => e.i32(value),
      symbol: (name, bounds) =>
        this.#bound.get(name) ?? this.#load(this.#table.sizeEntry(symbol(name, bounds))),
      add: (a, b) => e.add(a, b),
      mul: (a, b) => e.mul(a, b),
      operation: (kind, a, b) => sizeOperations[kind](a, b),
    });
  }

  #address(location: number): Expr {
    return this.#table.variableOf(location) ?? this.#load(this.#table.placeEntry(location));
  }

  #load(entry: number): Expr {
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

/** The next state becomes the current one. */
function swaps(states: readonly State[]): readonly Stmt[] {
  return states.flatMap(({ current, next }) => {
    if (next === null) return [];
    const old = e.variable('old', 'i32');
    return [
      e.declare(old, current),
      e.assign(current, next.variable),
      e.assign(next.variable, old),
    ];
  });
}

function clearKernel(name: string, storage: Storage): Kernel {
  const to = e.buffer('to', storage);
  const [begin, end] = [e.variable('begin', 'i32'), e.variable('end', 'i32')];
  const scalar = e.loadedScalar(storage);
  const body = e.forLoop('k', begin, end, (k) => e.store(to, k, e.constant(scalar, 0)), {
    mode: 'vector',
  });
  return e.kernel(name, [to, begin, end], body);
}

function setKernel(name: string): Kernel {
  const to = e.buffer('to', 'i32');
  const value = e.variable('value', 'i32');
  return e.kernel(name, [to, value], e.store(to, 0, value));
}
