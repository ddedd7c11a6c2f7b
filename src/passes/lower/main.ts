import { type Dim, type DimExpr, type DimOperation, fold, symbol, symbolsOf } from '../../base/dim.js'; // prettier-ignore
import type { DType } from '../../base/dtype.js';
import * as e from '../../loop/build.js';
import type { Buffer, Expr, Kernel, Stmt, Storage, Var } from '../../loop/nodes.js';
import type { KernelArgument } from './builder.js';
import { Hazards, type Touch } from './hazards.js';
import { type MainTeam, Sequence } from './sequence.js';
import type {
  BindStep,
  BranchStep,
  ForeachStep,
  KernelStep,
  Padding,
  Row,
  State,
  Step,
  WhileStep,
} from './steps.js';
import { isDivided, kernelTouches, touchesInside, touchesOf } from './touches.js';

/** The name of the kernel that runs a whole program. */
export const mainName = 'main';

/** Where `main` finds sizes and addresses in its table. */
export interface Table {
  /** The entry of a symbolic size. */
  sizeEntry(dim: DimExpr): number;
  placeEntry(place: number): number;
  /**
   * The entry of new memory that a kernel works in at a step; where several threads do, that of the
   * first, with those of the others behind it.
   */
  scratchEntry(name: string, dtype: DType, length: Dim, step: number, threads?: number): number;
  /** The variable that holds the address of a location; undefined for a place. */
  variableOf(location: number): Var | undefined;
  /** The places that a location may lie in. */
  placesOf(location: number): readonly number[];
  /** The last step that needs a place. */
  lastStepOf(place: number): number;
}

/**
 * The kernel `main`: reads addresses and sizes from a table of i32 and runs the kernels in order, in
 * loops and branches where the program has them. With these, `words` and `bytes` are all of the memory,
 * for the conditions and counts that kernels leave there. Also gives the helpers that it calls.
 *
 * With `threads`, all threads of a team run it, each with its number. Kernels that divide their results
 * are called by all, everything else is done by the first; what decides about loops, branches and sizes
 * all read. The threads meet only where one touches what another may have touched, and once in each trip
 * of a loop.
 */
export function mainKernel(
  steps: readonly Step[],
  table: Table,
  threads: number = 1,
): readonly Kernel[] {
  const printer = new MainPrinter(table, threads);
  const body = printer.whole(steps);
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
  readonly #threads: number;
  readonly #team: (MainTeam & { readonly index: Var; readonly count: Var }) | null;
  /** The addresses of memory that each thread has for itself, by the entry of that of the first. */
  readonly #own: Map<number, Var> = new Map();
  #hazards: Hazards;

  constructor(table: Table, threads: number) {
    this.#table = table;
    this.#threads = threads;
    this.#hazards = new Hazards((place) => table.lastStepOf(place));
    this.#team =
      threads === 1
        ? null
        : {
            meeting: e.buffer('team', 'i32'),
            index: e.variable('thread', 'i32'),
            count: e.variable('threads', 'i32'),
          };
  }

  /** `main` takes all three buffers or only the first; for a team all, and what it has to know of itself. */
  params(): readonly (Buffer | Var)[] {
    const team = this.#team;
    if (team === null && this.#words === null && this.#bytes === null) return [this.#entries];
    const buffers = [this.#entries, this.#wordBuffer(), this.#byteBuffer()];
    return team === null ? buffers : [...buffers, team.meeting, team.index, team.count];
  }

  prologue(): readonly Stmt[] {
    return [
      ...[...this.#kept].map(([entry, local]) => e.declare(local, this.#entry(entry))),
      ...[...this.#own].map(([entry, local]) =>
        e.declare(local, e.load(this.#entries, e.add(this.#team!.index, entry))),
      ),
    ];
  }

  whole(steps: readonly Step[]): readonly Stmt[] {
    const into = new Sequence(this.#team);
    this.#all(steps, into);
    return into.statements;
  }

  helpers(): readonly Kernel[] {
    return [...this.#helpers.values()];
  }

  #all(steps: readonly Step[], into: Sequence): void {
    for (const step of steps) {
      if (step.kind === 'kernel') this.#kernel(step, into);
      else if (step.kind === 'bind') this.#bind(step, into);
      else if (into.team === null || isDivided(step)) this.#control(step, into);
      else this.#alone(step, into);
    }
  }

  /** `hasStates`: whether the states of a loop have been declared. */
  #control(step: ForeachStep | WhileStep | BranchStep, into: Sequence, hasStates = false): void {
    switch (step.kind) {
      case 'foreach':
        return this.#foreach(step, into, hasStates);
      case 'while':
        return this.#while(step, into, hasStates);
      case 'branch':
        return this.#branch(step, into);
    }
  }

  /** A loop or branch that the first thread runs alone. The others must know where it has left its states. */
  #alone(step: ForeachStep | WhileStep | BranchStep, into: Sequence): void {
    this.#touch(
      touchesInside(step, (location) => this.#table.placesOf(location)),
      into,
    );
    const states = step.kind === 'branch' ? [] : step.states;
    into.everyone(...this.#states(states));
    const inside = new Sequence(null);
    this.#control(step, inside, true);
    into.first(e.block(...inside.statements));
    const moved = states.filter(({ next }) => next !== null);
    if (moved.length === 0) return;
    const { last } = step.span;
    const entry = this.#table.scratchEntry('states', 'int32', moved.length, last);
    const address = this.#load(entry);
    const touch = { place: null, step: last };
    this.#touch([{ ...touch, writes: true, everyone: false }], into);
    moved.forEach(({ current }, k) => {
      into.first(e.call(this.#helper('set_i32', setKernel), [e.add(address, 4 * k), current]));
    });
    this.#meet(into);
    this.#touch([{ ...touch, writes: false, everyone: true }], into);
    const first = e.shr(address, 2);
    moved.forEach(({ current }, k) => {
      into.everyone(e.assign(current, e.load(this.#wordBuffer(), e.add(first, k))));
    });
  }

  /** What is repeated. */
  #inside(team: MainTeam | null, print: (into: Sequence) => void): Stmt {
    this.#depth++;
    const into = new Sequence(team);
    print(into);
    this.#depth--;
    return e.block(...into.statements);
  }

  /** The threads meet, if these touches need it. */
  #touch(touches: readonly Touch[], into: Sequence): void {
    if (into.team === null) return;
    if (this.#hazards.forbid(touches)) this.#meet(into);
    this.#hazards.add(touches);
  }

  #meet(into: Sequence): void {
    if (into.team === null || this.#hazards.isEmpty) return;
    into.meet();
    this.#hazards.clear();
  }

  /** All threads are about to read what lies at a location. */
  #readByAll(location: number, step: number, into: Sequence): void {
    const touch = { writes: false, everyone: true, step };
    this.#touch(
      touchesOf(location, touch, (at) => this.#table.placesOf(at)),
      into,
    );
  }

  /** The first thread is about to write what lies at a location. */
  #written(location: number, step: number, into: Sequence): void {
    const touch = { writes: true, everyone: false, step };
    this.#touch(
      touchesOf(location, touch, (at) => this.#table.placesOf(at)),
      into,
    );
  }

  #kernel({ kernel: lowered, step }: KernelStep, into: Sequence): void {
    this.#touch(
      kernelTouches(lowered, step, (location) => this.#table.placesOf(location)),
      into,
    );
    const { kernel, args, grains } = lowered;
    const { team } = into;
    if (team === null || grains === null) {
      into.first(e.call(kernel, args.map((arg) => this.#argument(arg, step, null)))); // prettier-ignore
      return;
    }
    const call = (threads: Expr): Stmt =>
      e.call(kernel, args.map((arg) => this.#argument(arg, step, { ...team, count: threads }))); // prettier-ignore
    if (typeof grains === 'number' && grains >= this.#threads) {
      into.everyone(call(team.count));
      return;
    }
    const members = e.variable('members', 'i32');
    const most = e.min(team.count, this.#size(grains));
    into.everyone(
      e.block(
        e.declare(members, typeof grains === 'number' ? most : e.max(most, 1)),
        e.ifThen(e.lt(team.index, members), call(members)),
      ),
    );
  }

  #argument(arg: KernelArgument, step: number, team: MainTeam | null): Expr {
    switch (arg.kind) {
      case 'size':
        return this.#size(arg.dim);
      case 'place':
        return this.#address(arg.place);
      case 'thread':
        return team?.index ?? e.i32(0);
      case 'threads':
        return team?.count ?? e.i32(1);
      case 'scratch': {
        const { name, dtype, length } = arg;
        if (team === null) return this.#load(this.#table.scratchEntry(name, dtype, length, step));
        const entry = this.#table.scratchEntry(name, dtype, length, step, this.#threads);
        const own = e.variable(`t${entry}`, 'i32');
        this.#own.set(entry, own);
        return own;
      }
    }
  }

  /** Sizes outside of what there is room for cannot come out of operators that bound their own. */
  #bind({ from, isWide, sizes, step }: BindStep, into: Sequence): void {
    this.#readByAll(from, step, into);
    sizes.forEach(({ name, bounds }, k) => {
      const local = e.variable(name, 'i32');
      this.#bound.set(name, local);
      const size = this.#word(from, isWide ? 2 * k : k);
      const isBounded = bounds.max !== Infinity;
      into.everyone(
        e.declare(local, e.max(isBounded ? e.min(size, bounds.max) : size, bounds.min)),
      );
    });
  }

  #foreach(step: ForeachStep, into: Sequence, hasStates: boolean): void {
    const { span, length, reverse, count, rows, states, body, paddings } = step;
    const { team } = into;
    const end = e.variable('rows', 'i32');
    const size = this.#size(length);
    if (count !== null) this.#readByAll(count, span.first, into);
    const rowCount = count === null ? size : e.max(e.min(this.#word(count), size), 0);
    if (!hasStates) into.everyone(...this.#states(states));
    into.everyone(e.declare(end, rowCount));
    this.#meet(into);
    const loop = e.forLoop('i', 0, end, (i) => {
      const at = reverse ? e.sub(e.sub(end, 1), i) : i;
      return this.#inside(team, (trip) => {
        trip.everyone(...this.#rows(rows, at));
        this.#all(body, trip);
        this.#meet(trip);
        trip.everyone(...swaps(states));
      });
    });
    into.everyone(loop);
    for (const padding of paddings) this.#clear(padding, end, size, span.last, into);
  }

  #while(step: WhileStep, into: Sequence, hasStates: boolean): void {
    const { span, limit, rows, states, condition, predicate, body, paddings, iterations } = step;
    const { team } = into;
    const i = e.variable('i', 'i32');
    const goes = e.variable('goes', 'bool');
    const most = limit === null ? null : this.#size(limit);
    if (!hasStates) into.everyone(...this.#states(states));
    into.everyone(e.declare(i, e.i32(0)), e.declare(goes, e.constant('bool', 1)));
    this.#meet(into);
    let behind = this.#hazards;
    const loop = this.#inside(team, (trip) => {
      this.#all(condition, trip);
      this.#readByAll(predicate, span.first, trip);
      const flag = this.#flag(predicate);
      behind = this.#hazards.copy();
      const once = this.#inside(team, (inner) => {
        inner.everyone(...this.#rows(rows, i));
        this.#all(body, inner);
        this.#meet(inner);
        inner.everyone(...swaps(states), e.assign(i, e.add(i, 1)));
      });
      trip.everyone(
        e.assign(goes, most === null ? flag : e.and(flag, e.lt(i, most))),
        e.ifThen(goes, once),
      );
    });
    this.#hazards = behind;
    into.everyone(e.whileLoop(goes, loop));
    if (most !== null) {
      for (const padding of paddings) this.#clear(padding, i, most, span.last, into);
    }
    if (iterations === undefined) return;
    this.#written(iterations, span.last, into);
    into.first(e.call(this.#helper('set_i32', setKernel), [this.#address(iterations), i]));
  }

  #branch({ span, predicate, consequent, alternate }: BranchStep, into: Sequence): void {
    this.#readByAll(predicate, span.first, into);
    const flag = this.#flag(predicate);
    const before = this.#hazards;
    const [yes, no] = [consequent, alternate].map((steps) => {
      this.#hazards = before.copy();
      const branch = new Sequence(into.team);
      this.#all(steps, branch);
      return { block: e.block(...branch.statements), hazards: this.#hazards };
    });
    this.#hazards = yes.hazards;
    this.#hazards.join(no.hazards);
    into.everyone(e.ifThen(flag, yes.block, no.block));
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

  #clear(
    { location, storage, elements }: Padding,
    from: Expr,
    to: Expr,
    step: number,
    into: Sequence,
  ): void {
    this.#written(location, step, into);
    const size = this.#size(elements);
    const clear = this.#helper(`clear_${storage}`, (name) => clearKernel(name, storage));
    const [begin, end] = ['begin', 'end'].map((name) => e.variable(name, 'i32'));
    into.first(
      e.block(
        e.declare(begin, e.mul(from, size)),
        e.declare(end, e.mul(to, size)),
        e.call(clear, [this.#address(location), begin, end]),
      ),
    );
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
