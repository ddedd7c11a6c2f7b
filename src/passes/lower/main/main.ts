import { unreachable } from '../../../base/unreachable.js';
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Kernel, Stmt, Var } from '../../../loop/language/nodes.js';
import type { KernelArgument } from '../nests/builder.js';
import { clearKernel, setKernel } from '../nests/memory-kernels.js';
import { Hazards, type Touch } from './hazards.js';
import { PackedStates } from './kept-states.js';
import { type MainTeam, Sequence } from './sequence.js';
import type {
  BindStep,
  BranchStep,
  ForeachStep,
  KernelStep,
  RowPadding,
  Row,
  StateBuffer,
  MainStep,
  WhileStep,
} from './steps.js';
import { type TableLayout, TableReader } from './table.js';
import { isDivided, kernelTouches, touchesInside, touchesOf } from './touches.js';

/** The name of the kernel that runs a whole program. */
export const mainName = 'main';

/** The mark of a program that is done. */
export const endMark = -1;

/**
 * The kernel `main`: reads addresses and sizes from a table of i32 and runs the kernels in order, in
 * loops and branches where the program has them. With these, `words` and `bytes` are all of the memory,
 * for the conditions and counts that kernels leave there. Also gives the helpers that it calls.
 *
 * With `threads`, all threads of a team run it, each with its number. Kernels that divide their results
 * are called by all, everything else is done by the first; what decides about loops, branches and sizes
 * all read. The threads meet only where one touches what another may have touched, and once in each trip
 * of a loop.
 *
 * Where there is a kernel `mark`, the first thread calls it with the number of each kernel's step before the kernel, and
 * with `endMark` when everything is done.
 */
export function mainKernel(
  steps: readonly MainStep[],
  table: TableLayout,
  threads: number = 1,
  mark: Kernel | null = null,
): readonly Kernel[] {
  const printer = new MainPrinter(table, threads, mark);
  const body = printer.whole(steps);
  return [
    ...printer.helpers(),
    e.kernel(mainName, printer.params(), e.block(...printer.prologue(), ...body)),
  ];
}

class MainPrinter {
  readonly #table: TableLayout;
  readonly #reader: TableReader;
  readonly #helpers: Map<string, Kernel> = new Map();
  readonly #threads: number;
  readonly #team: (MainTeam & { readonly index: Var; readonly count: Var }) | null;
  #hazards: Hazards;
  readonly #kept: PackedStates;
  readonly #mark: Kernel | null;

  constructor(table: TableLayout, threads: number, mark: Kernel | null) {
    this.#mark = mark;
    this.#table = table;
    this.#reader = new TableReader(table);
    this.#kept = new PackedStates(table, this.#reader);
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
    const buffers = this.#reader.buffers(team !== null);
    return team === null ? buffers : [...buffers, team.meeting, team.index, team.count];
  }

  prologue(): readonly Stmt[] {
    return [...this.#reader.declarations(this.#team?.index ?? null), ...this.#kept.declarations()];
  }

  whole(steps: readonly MainStep[]): readonly Stmt[] {
    const into = new Sequence(this.#team);
    this.#all(steps, into);
    if (this.#mark !== null) {
      this.#meet(into);
      into.first(e.call(this.#mark, [e.i32(endMark)]));
    }
    return into.statements;
  }

  helpers(): readonly Kernel[] {
    return [...this.#helpers.values()];
  }

  #all(steps: readonly MainStep[], into: Sequence): void {
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
      default:
        return unreachable(step);
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
    const scalar = this.#table.addresses;
    const isWide = scalar === 'i64';
    const set = this.#helper(`set_${scalar}`, (name) => setKernel(name, scalar));
    const entry = this.#table.scratchEntry(
      { name: 'states', dtype: isWide ? 'int64' : 'int32', length: moved.length },
      last,
    );
    const address = this.#reader.loadAddress(entry);
    const touch = { place: null, step: last };
    this.#touch([{ ...touch, writes: true, everyone: false }], into);
    moved.forEach(({ current }, k) => {
      into.first(e.call(set, [e.add(address, (isWide ? 8 : 4) * k), current]));
    });
    this.#meet(into);
    this.#touch([{ ...touch, writes: false, everyone: true }], into);
    moved.forEach(({ current }, k) => {
      into.everyone(e.assign(current, this.#reader.addressAt(address, k)));
    });
  }

  /** Prints the repeated statements. */
  #inside(team: MainTeam | null, print: (into: Sequence) => void): Stmt {
    const into = new Sequence(team);
    this.#reader.repeated(() => print(into));
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
    const { kernel, args, grains } = lowered;
    const { team } = into;
    if (team !== null) {
      this.#touch(
        kernelTouches(lowered, step, (location) => this.#table.placesOf(location)),
        into,
      );
    }
    if (this.#mark !== null) into.first(e.call(this.#mark, [e.i32(step)]));
    if (team === null || grains === null) {
      into.first(e.call(kernel, args.map((arg) => this.#argument(arg, step, null))), ...this.#kept.filled(step)); // prettier-ignore
      return;
    }
    const call = (threads: Expr): Stmt =>
      e.call(kernel, args.map((arg) => this.#argument(arg, step, { ...team, count: threads }))); // prettier-ignore
    if (typeof grains === 'number' && grains >= this.#threads) {
      into.everyone(call(team.count), ...this.#kept.filled(step));
      return;
    }
    const members = e.variable('members', 'i32');
    const most = e.min(team.count, this.#reader.size(grains));
    into.everyone(
      e.block(
        e.declare(members, typeof grains === 'number' ? most : e.max(most, 1)),
        e.ifThen(e.lt(team.index, members), call(members)),
        ...this.#kept.filled(step),
      ),
    );
  }

  #argument(arg: KernelArgument, step: number, team: MainTeam | null): Expr {
    switch (arg.kind) {
      case 'size':
        return this.#reader.size(arg.dim);
      case 'place':
        return this.#reader.address(arg.place);
      case 'thread':
        return team?.index ?? e.i32(0);
      case 'threads':
        return team?.count ?? e.i32(1);
      case 'scratch': {
        if (team === null) return this.#reader.loadAddress(this.#table.scratchEntry(arg, step));
        return this.#reader.own(this.#table.scratchEntry(arg, step, { threads: this.#threads }));
      }
      case 'kept':
        return this.#kept.memory(arg, step, team === null);
      case 'state':
        return this.#kept.state(step);
    }
  }

  /** Sizes outside of what there is room for cannot come out of operators that bound their own. */
  #bind({ from, isWide, sizes, step }: BindStep, into: Sequence): void {
    this.#readByAll(from, step, into);
    sizes.forEach(({ name, bounds, most }, k) => {
      const room = most === null ? bounds.max : this.#reader.size(most);
      const local = this.#reader.bind(name);
      const size = e.max(this.#reader.word(from, isWide ? 2 * k : k), bounds.min);
      into.everyone(e.declare(local, room === Infinity ? size : e.min(size, room)));
    });
  }

  #foreach(step: ForeachStep, into: Sequence, hasStates: boolean): void {
    const { span, length, reverse, count, rows, states, body, paddings } = step;
    const { team } = into;
    const end = e.variable('rows', 'i32');
    const size = this.#reader.size(length);
    if (count !== null) this.#readByAll(count, span.first, into);
    const rowCount = count === null ? size : e.max(e.min(this.#reader.word(count), size), 0);
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
    into.everyone(...this.#kept.emptied(span), loop);
    for (const padding of paddings) this.#clear(padding, end, size, span.last, into);
  }

  #while(step: WhileStep, into: Sequence, hasStates: boolean): void {
    const { span, limit, rows, states, condition, predicate, body, paddings, iterations } = step;
    const { team } = into;
    const i = e.variable('i', 'i32');
    const goes = e.variable('goes', 'bool');
    const most = limit === null ? null : this.#reader.size(limit);
    if (!hasStates) into.everyone(...this.#states(states));
    into.everyone(e.declare(i, e.i32(0)), e.declare(goes, e.constant('bool', 1)));
    this.#meet(into);
    let behind = this.#hazards;
    const loop = this.#inside(team, (trip) => {
      this.#all(condition, trip);
      this.#readByAll(predicate, span.first, trip);
      const flag = this.#reader.flag(predicate);
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
    into.everyone(...this.#kept.emptied(span), e.whileLoop(goes, loop));
    if (most !== null) {
      for (const padding of paddings) this.#clear(padding, i, most, span.last, into);
    }
    if (iterations === undefined) return;
    this.#written(iterations, span.last, into);
    const set = this.#helper('set_i32', (name) => setKernel(name, 'i32'));
    into.first(e.call(set, [this.#reader.address(iterations), i]));
  }

  #branch({ span, predicate, consequent, alternate }: BranchStep, into: Sequence): void {
    this.#readByAll(predicate, span.first, into);
    const flag = this.#reader.flag(predicate);
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

  #states(states: readonly StateBuffer[]): readonly Stmt[] {
    return states.flatMap(({ current, start, next }) => [
      e.declare(current, this.#reader.address(start)),
      ...(next === null ? [] : [e.declare(next.variable, this.#reader.address(next.place))]),
    ]);
  }

  /** The addresses of the rows of one iteration. */
  #rows(rows: readonly Row[], at: Expr): readonly Stmt[] {
    return rows.map(({ variable, of, bytes }) =>
      e.declare(
        variable,
        this.#reader.offset(this.#reader.address(of), at, this.#reader.size(bytes)),
      ),
    );
  }

  #clear(
    { location, storage, elements }: RowPadding,
    from: Expr,
    to: Expr,
    step: number,
    into: Sequence,
  ): void {
    this.#written(location, step, into);
    const size = this.#reader.size(elements);
    const clear = this.#helper(`clear_${storage}`, (name) => clearKernel(name, storage, false));
    const [begin, end] = ['begin', 'end'].map((name) => e.variable(name, 'i32'));
    into.first(
      e.block(
        e.declare(begin, e.mul(from, size)),
        e.declare(end, e.mul(to, size)),
        e.call(clear, [this.#reader.address(location), begin, end]),
      ),
    );
  }

  #helper(name: string, make: (name: string) => Kernel): Kernel {
    let kernel = this.#helpers.get(name);
    if (kernel === undefined) this.#helpers.set(name, (kernel = make(name)));
    return kernel;
  }
}

/** The next state becomes the current one. */
function swaps(states: readonly StateBuffer[]): readonly Stmt[] {
  return states.flatMap(({ current, next }) => {
    if (next === null) return [];
    const old = e.variable('old', current.type.scalar);
    return [
      e.declare(old, current),
      e.assign(current, next.variable),
      e.assign(next.variable, old),
    ];
  });
}
