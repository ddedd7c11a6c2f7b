import { addDim, type Dim, type DimExpr, maxDim, mulDim, substituteDim, symbol, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import { bytesOf } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import { bindProgram, givenSizes } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import type { PlannedBuffer } from '../../passes/groups/places.js';
import type * as host from '../../passes/host/statements.js';
import { changingNames } from '../../passes/host/walk.js';
import { type ProgramPlan, tableLength } from '../../passes/lower/main/plan.js';
import type { PlacedCallee, Decides, RoutineContext } from './callee.js';
import { growth } from './growth.js';
import { aligned, bytesAt, shareMemory } from './layout.js';
import { Memory } from './memory.js';
import { boundFrom, type UpperBound, Names, Unbounded } from './names.js';
import { type PlacedStatement, withoutUnused } from './statements.js';

/** Results of a call that lie in the memory that it worked in. */
interface Floating {
  readonly handles: Set<host.Handle>;
  /** The end of that memory, and its upper bound behind `base`. */
  readonly end: DimExpr;
  readonly most: UpperBound;
}

/** Names that both sides of a choice give values to. */
interface Shared {
  readonly names: Set<string>;
  readonly end: DimExpr;
  readonly most: UpperBound[];
}

/**
 * Gives the arrays of a routine addresses. Its memory, from `base` on: a table for `main`; what stays, in the order
 * in which it is made; and behind that what the code that runs needs for itself.
 */
export class Placement {
  readonly names: Names;
  readonly memory: Memory;
  readonly #host: host.HostRoutine;
  readonly #around: RoutineContext;
  readonly #decides: Decides;
  readonly #plans: ReadonlyMap<host.HostPart, ProgramPlan>;
  readonly #changing: ReadonlySet<string>;
  /** By the numbers of handles. */
  readonly #addresses: (Dim | undefined)[] = [];
  #statements: PlacedStatement[] = [];
  #floating: Floating | null = null;
  #shared: Shared | null = null;

  constructor(routine: host.HostRoutine, around: RoutineContext, decides: Decides) {
    this.#host = routine;
    this.#around = around;
    this.#decides = decides;
    this.names = new Names(routine.names);
    this.#changing = changingNames(routine.body);
    const parts = routine.body.flatMap((statement) =>
      statement.kind === 'run' ? [statement.part] : [],
    );
    this.#plans = new Map(
      parts.map((part) => [part, around.plan(part.program, part.program === routine.program)]),
    );
    const tables = [...this.#plans.values()].map((plan) => 4 * tableLength(plan));
    const top = aligned(Math.max(0, ...tables));
    this.memory = new Memory(this.names, top, (statement) => this.emit(statement));
    for (const [{ id }, data] of routine.constants) this.#addresses[id] = around.constant(data);
  }

  get program(): Program {
    return this.#host.program;
  }

  /** Says where an input lies. */
  input(index: number, at: Dim): void {
    this.#addresses[this.#host.inputs[index].id] = at;
  }

  /** Places all statements. */
  run(): void {
    this.#place(this.#host.body);
  }

  /** The code, where there is nothing else, and no input is a result. */
  get onlyRun(): host.HostStatementOf<'run'> | null {
    const [first, ...rest] = this.#host.body.filter(({ kind }) => kind !== 'drop');
    if (rest.length > 0 || first?.kind !== 'run') return null;
    const { outputs } = this.#plans.get(first.part)!;
    return outputs.some(({ kind }) => kind === 'input') ? null : first;
  }

  /**
   * Places the code that is all there is. The inputs that `isMovable` says share memory with what is computed; returns
   * where they lie, by their numbers, as far as anything reads them.
   */
  runShared(
    run: host.HostStatementOf<'run'>,
    isMovable: (place: PlannedBuffer) => boolean,
  ): ReadonlyMap<number, Dim> {
    const at = this.#run(run, isMovable);
    const { places } = this.#plans.get(run.part)!;
    return new Map(
      places.flatMap(({ role }, id) => (role.kind === 'input' ? [[role.index, at[id]]] : [])),
    );
  }

  /** Addresses and shapes of the outputs. */
  outputs(): readonly { readonly at: Dim; readonly shape: readonly Dim[] }[] {
    return this.#host.outputs.map((stretch) => ({ at: this.#at(stretch), shape: stretch.shape }));
  }

  emit(...statements: readonly PlacedStatement[]): void {
    this.#statements.push(...statements);
  }

  /** A name for an element in memory. */
  load(hint: string, from: Dim, dtype: host.LoadedDType): Dim {
    const name = this.names.fresh(hint);
    this.emit({ kind: 'load', name: name.key, from, dtype });
    return name;
  }

  /** The statements so far. */
  get statements(): readonly PlacedStatement[] {
    return this.#statements;
  }

  /** The routine, and what its callers need to know of it. */
  finish(name: string, inputs: readonly string[]): PlacedCallee {
    const outputs = this.outputs();
    const returns = [...outputs.map(({ at }) => at), ...outputs.flatMap(({ shape }) => shape), this.memory.end]; // prettier-ignore
    const sizes = [...givenSizes(this.program).keys()];
    const body = withoutUnused(this.#statements, returns);
    return {
      routine: { name, parameters: [...sizes, ...inputs, this.memory.base.key], body, returns },
      program: this.program,
      sizes,
      ranks: outputs.map(({ shape }) => shape.length),
      most: outputs.map(({ shape }) => shape.map((dim) => this.names.most(dim))),
      bytes: this.memory.bytes,
    };
  }

  #place(body: readonly host.HostStatement[]): void {
    for (const statement of body) this.#statement(statement);
  }

  #statement(statement: host.HostStatement): void {
    switch (statement.kind) {
      case 'set': {
        const { name, value, bound } = statement;
        const most = this.#changing.has(name) ? null : this.names.most(value);
        if (most !== null && !(most instanceof Unbounded)) this.names.bound(name, most);
        else if (bound !== undefined) this.names.bound(name, this.#bound(name, bound));
        this.emit({ kind: 'set', name, value });
        return;
      }
      case 'load': {
        const { name, from, dtype, bound } = statement;
        if (bound !== undefined) this.names.bound(name, this.#bound(name, bound));
        this.emit({ kind: 'load', name, from: this.#at(from), dtype });
        return;
      }
      case 'store':
        this.emit({ kind: 'store', to: this.#at(statement.to), value: statement.value });
        return;
      case 'assign':
      case 'require':
      case 'leave':
        this.emit(statement);
        return;
      case 'repeat':
        this.emit({ kind: 'repeat', body: this.#inside(statement.body) });
        return;
      case 'choose':
        this.#choose(statement);
        return;
      case 'allocate':
        this.#settle();
        for (const { of, row } of statement.stacks) {
          this.#addresses[of.id] = this.memory.take(mulDim(bytesAt(of, row), statement.rows));
        }
        this.memory.reserve();
        return;
      case 'grow':
        this.emit(growth(statement, this.#growing));
        return;
      case 'copy':
        this.#move(statement.to, this.#at(statement.from));
        return;
      case 'clear': {
        const { of, shape } = statement.at;
        this.emit({ kind: 'clear', to: this.#at(statement.at), bytes: bytesAt(of, shape) });
        return;
      }
      case 'run':
        this.#run(statement);
        return;
      case 'call':
        this.#call(statement);
        return;
      case 'drop': {
        const handles = this.#floating?.handles;
        for (const handle of statement.handles) handles?.delete(handle);
        if (handles?.size === 0) this.#floating = null;
        return;
      }
      case 'trim': // Memory ends behind all rows that there was room for.
      case 'check': // Programs tell of such elements by results of their own.
        return;
      default:
        unreachable(statement);
    }
  }

  #at({ of, offset = 0 }: host.Stretch): Dim {
    const at = this.#addresses[of.id];
    if (at === undefined) throw new InternalError('a value has no place in an artifact');
    return addDim(at, mulDim(offset, bytesOf(of.dtype)));
  }

  #move(to: host.Stretch, from: Dim): void {
    this.emit({ kind: 'move', to: this.#at(to), from, bytes: bytesAt(to.of, to.shape) });
  }

  /** Statements that are part of another, and whose memory is free behind them. */
  #inside(body: readonly host.HostStatement[]): readonly PlacedStatement[] {
    const [around, top] = [this.#statements, this.memory.top];
    this.#statements = [];
    this.#place(body);
    const made = this.#statements;
    this.#statements = around;
    this.memory.top = top;
    this.#floating = null;
    return made;
  }

  get #growing(): Parameters<typeof growth>[1] {
    const { names, memory } = this;
    const floating = this.#floating;
    return {
      names,
      memory,
      addressOf: ({ id }) => this.#addresses[id]!,
      // The addresses of results of a call are names.
      floating: floating === null ? [] : [...[...floating.handles].map(({ id }) => this.#addresses[id] as DimExpr), floating.end], // prettier-ignore
    };
  }

  /** Arrays that both sides make stay where they are made. */
  #choose({ when, consequent, alternate }: host.HostStatementOf<'choose'>): void {
    this.#settle();
    const made = consequent.flatMap((each) =>
      each.kind === 'call' ? each.results.filter((result) => result.kind === 'own') : [],
    );
    const around = this.#shared;
    this.#shared = null;
    if (made.length > 0) {
      const addresses = made.map(({ as }) => {
        const address = this.names.fresh('result');
        this.#addresses[as.id] = address;
        return address.key;
      });
      const extents = made.flatMap((result) => result.extents.filter((name) => name !== null));
      const end = this.names.fresh('end');
      const names = [...addresses, ...extents, end.key];
      this.#shared = { names: new Set(names), end, most: [] };
      this.emit({ kind: 'declare', names });
    }
    const sides = [this.#inside(consequent), this.#inside(alternate)];
    this.emit({ kind: 'choose', when, consequent: sides[0], alternate: sides[1] });
    const shared = this.#shared as Shared | null;
    if (shared !== null) this.memory.goOnAt(shared.end, boundFrom(shared.most, maxDim));
    this.#shared = around;
  }

  /** Returns the addresses of the places of its plan. */
  #run(
    { part, reads, gives }: host.HostStatementOf<'run'>,
    isMovable?: (place: PlannedBuffer) => boolean,
  ): readonly Dim[] {
    this.#settle();
    const plan = this.#plans.get(part)!;
    const { places, outputs } = plan;
    const given = (index: number): Dim => this.#at(reads[index]);
    const addresses: (Dim | undefined)[] = places.map((place) => {
      const { role } = place;
      if (role.kind === 'constant') return this.#around.constant(role.data);
      if (role.kind !== 'input' || isMovable?.(place) === true) return undefined;
      return given(role.index);
    });
    outputs.forEach((source) => {
      if (source.kind !== 'place' || isMovable !== undefined) return;
      const { length, dtype } = places[source.place];
      addresses[source.place] ??= this.memory.take(mulDim(length, bytesOf(dtype)));
    });
    const moving = places.flatMap((_, id) => (addresses[id] === undefined ? [id] : []));
    const shared = shareMemory(moving.map((id) => places[id]));
    moving.forEach((id, i) => (addresses[id] = addDim(this.memory.end, shared.offsets[i])));
    const at = addresses as readonly Dim[];
    this.memory.reserve(shared.bytes);
    const entries = [...plan.sizes, ...at];
    this.emit({ kind: 'run', main: this.#around.code(plan), table: this.memory.base, entries });
    gives.forEach(({ id }, k) => {
      const source = outputs[k];
      if (source.kind === 'place') this.#addresses[id] = at[source.place];
      else if (source.kind === 'input') this.#addresses[id] = given(source.index);
      else this.#addresses[id] = this.#around.constant(source.data);
    });
    return at;
  }

  /** The routine works behind all that stays; its results are moved, or stay there until something else is put there. */
  #call({
    callee: called,
    operands,
    sizes: passed,
    results,
    site,
  }: host.HostStatementOf<'call'>): void {
    this.#settle();
    const callee = this.#around.callee(called);
    const types = operands.map(({ of: { dtype }, shape }) => ({ dtype, shape }));
    const sizes = bindProgram(callee.program, types, passed);
    const inNames = (bound: UpperBound): UpperBound =>
      boundFrom([bound], (most) => this.names.most(substituteDim(most, sizes)));
    const shared = this.#shared;
    const declared: string[] = [];
    const declare = (name: DimExpr): DimExpr => {
      if (shared?.names.has(name.key) !== true) declared.push(name.key);
      return name;
    };
    const addresses = results.map((result) => {
      const known = result.kind === 'own' ? this.#addresses[result.as.id] : undefined;
      const isShared = known !== undefined && shared?.names.has(String(known)) === true;
      const address = isShared ? (known as DimExpr) : declare(this.names.fresh('result'));
      if (result.kind === 'own') this.#addresses[result.as.id] = address;
      return address;
    });
    const extents = results.flatMap((result, k) =>
      callee.most[k].map((bound, axis) => {
        const name = result.kind === 'own' ? result.extents[axis] : null;
        if (name === null) return null;
        declare(symbol(name));
        this.names.boundAlso(name, inNames(bound));
        return name;
      }),
    );
    const end = shared?.end ?? declare(this.names.fresh('end'));
    this.emit(
      { kind: 'declare', names: declared },
      {
        kind: 'call',
        routine: callee.routine,
        values: [
          ...callee.sizes.map((name) => sizes.get(name)!),
          ...operands.map((operand) => this.#at(operand)),
          this.memory.end,
        ],
        results: [...addresses.map(({ key }) => key), ...extents, end.key],
        site,
      },
    );
    const most = this.memory.use(inNames(callee.bytes));
    shared?.most.push(most);
    results.forEach((result, k) => {
      if (result.kind === 'into') this.#move(result.to, addresses[k]);
    });
    const own = results.flatMap((result) => (result.kind === 'own' ? [result.as] : []));
    if (own.length > 0) this.#floating = { handles: new Set(own), end, most };
  }

  /** Keeps results of a call that are still read. */
  #settle(): void {
    if (this.#floating === null) return;
    const { end, most } = this.#floating;
    this.#floating = null;
    this.memory.goOnAt(end, most);
  }

  #bound(name: string, { most, call, isIterations = false }: host.NameBound): UpperBound {
    if (most !== null) return this.names.most(most);
    if (isIterations) return new Unbounded(null, call.op.name, call.source);
    const sizes = call.types.flatMap(({ shape }) => shape.flatMap((dim) => [...symbolsOf(dim)]));
    const size = [name, ...sizes].find((each) => this.#decides(each) !== undefined);
    const { op, source } = (size === undefined ? undefined : this.#decides(size)) ?? { op: call.op.name, source: call.source }; // prettier-ignore
    return new Unbounded(size ?? name, op, source);
  }
}
