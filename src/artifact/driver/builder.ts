import { addDim, boundsOf, type Dim, floorDivDim, maxDim, mulDim, sameDim, elementCount, subDim, substituteDim, symbol, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import { bytesOf } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import { bindTypes, linearForm, symbolsOfTypes } from '../../ir/bind.js';
import { type CallNode, namedInputs, type Program, type Value } from '../../ir/program.js';
import type { Requirement, MessageTemplate } from '../../ir/requirement.js';
import { words } from '../../ir/requirement.js';
import type { ConstantData, Shape, TensorType } from '../../ir/types.js';
import { type ProgramPlan, tableLength } from '../../passes/lower/main/plan.js';
import type { PlannedBuffer } from '../../passes/groups/places.js';
import { viewed } from '../../passes/rewrite/views.js';
import { aligned, shareMemory } from './layout.js';
import { boundFrom, type UpperBound, Names, Unbounded } from './names.js';
import type { PlannedStage, Staged } from './stages.js';
import { type Loaded, type Routine, type Statement, withoutUnused } from './statements.js';

/** A routine as those who call it see it. */
export interface Callee {
  readonly routine: Routine;
  /** What it runs on. */
  readonly inputs: readonly { readonly name: string; readonly type: TensorType }[];
  /** The sizes that it is given: its first parameters. An address for each input follows, then its memory's. */
  readonly sizes: readonly string[];
  /** It returns the addresses of these, then all extents of each, then the end of its memory. */
  readonly outputs: readonly Shape[];
  /** By output, what extents can be at most, in `sizes`. */
  readonly most: readonly (readonly UpperBound[])[];
  /** The most memory that it needs, in `sizes`. */
  readonly bytes: UpperBound;
}

/** What routines share. */
export interface RoutineContext {
  /** Makes the code of a plan callable; its name. */
  code(plan: ProgramPlan): string;
  /** The address of a constant. */
  constant(data: ConstantData): number;
  /** The routine of a region; the same one for the same region. */
  region(region: Program): Callee;
  /** The routine of a program that a loop is made into. */
  program(program: Program): Callee;
}

/** The user's call that decides a size, for errors. */
export type Decides = (
  size: string,
) => { readonly op: string; readonly source: string | undefined } | undefined;

/** An array in memory. */
export interface Located {
  readonly at: Dim;
  readonly type: TensorType;
}

/** What a loop or branch leaves behind. */
export interface LocatedResult {
  readonly at: Dim;
  readonly shape: Shape;
  /** What its extents are at most, in the sizes that the routine is given. */
  readonly most: readonly UpperBound[];
}

/** Writes what the host does for a loop or branch. */
export type Control = (
  builder: RoutineBuilder,
  call: CallNode,
  operands: readonly Located[],
) => readonly LocatedResult[];

/**
 * Writes the routine of a program. Its memory, from the address `base` on: a table for `main`; what must
 * stay, in the order in which it is made; and behind that what the island that runs needs for itself.
 */
export class RoutineBuilder {
  readonly around: RoutineContext;
  readonly decides: Decides;
  readonly names: Names;
  readonly base: Dim;
  readonly #staged: Staged;
  readonly #slots: Map<Value, Dim> = new Map();
  /** The sizes that are known by now. */
  readonly #known: Map<string, Dim> = new Map();
  readonly #ends: UpperBound[] = [];
  #statements: Statement[] = [];
  #top: Dim;
  #reserved: Dim = 0;

  constructor(staged: Staged, around: RoutineContext, decides: Decides) {
    this.#staged = staged;
    this.around = around;
    this.decides = decides;
    this.names = new Names(staged.program);
    this.base = this.names.fresh('base');
    for (const [name, bounds] of this.givenSizes) this.#known.set(name, symbol(name, bounds));
    const tables = staged.stages.map(({ island }) =>
      island === null ? 0 : 4 * tableLength(island.plan),
    );
    this.#top = aligned(Math.max(...tables));
  }

  get program(): Program {
    return this.#staged.program;
  }

  /** The sizes that the inputs bring. */
  get givenSizes(): ReadonlyMap<string, { readonly min: number; readonly max: number }> {
    return symbolsOfTypes(this.program.inputs.map(({ type }) => type));
  }

  /** A size that is known by now. */
  size(name: string): Dim {
    return this.#known.get(name)!;
  }

  /** Where an input lies. */
  input(index: number, at: Dim): void {
    this.#slots.set(this.program.inputs[index], at);
  }

  /** All that happens, in order. */
  run(control: Control): void {
    for (const stage of this.#staged.stages) {
      if (stage.island !== null) this.#island(stage.island);
      for (const id of stage.extents) this.#extents(id);
      for (const id of stage.calls) {
        const call = this.#call(id);
        const results = control(this, call, this.#operands(id));
        this.#bindResults(call, results);
        this.program.results(id).forEach((value, k) => this.#slots.set(value, results[k].at));
      }
      for (const requirement of stage.requirements) this.#require(requirement);
    }
  }

  /** Whether it is nothing but one call of `main`. */
  get isOnePiece(): boolean {
    const [{ island, extents, calls }, ...rest] = this.#staged.stages;
    return rest.length + extents.length + calls.length === 0 && island !== null;
  }

  /**
   * All that happens, in one piece. The inputs that `isMovable` says share memory with what is computed;
   * gives where they lie, by their numbers, as far as anything reads them.
   */
  runShared(isMovable: (place: PlannedBuffer) => boolean): ReadonlyMap<number, Dim> {
    const { plan, reads, gives } = this.#staged.stages[0].island!;
    const at = this.#island({ plan, reads, gives }, isMovable);
    return new Map(
      plan.places.flatMap(({ role }, id) => (role.kind === 'input' ? [[role.index, at[id]]] : [])),
    );
  }

  /** Where a value lies by now. */
  at(value: Value): Dim {
    const { program } = this;
    const base = viewed(program, value);
    const node = program.node(base.node);
    if (node.kind === 'constant') return this.around.constant(node.data);
    const at = this.#slots.get(base);
    if (at === undefined) throw new InternalError('a value has no place in an artifact');
    return at;
  }

  outputs(): readonly Located[] {
    return this.program.outputs.map(({ value }) => ({ at: this.at(value), type: value.type }));
  }

  /** The most memory that is needed, in the sizes that are given. */
  get bytes(): UpperBound {
    return this.#ends.reduce<UpperBound>((all, end) => boundFrom([all, end], maxDim), 0);
  }

  /** Behind everything that stays. */
  get end(): Dim {
    return addDim(this.base, this.#top);
  }

  /** Memory that stays. */
  take(bytes: Dim): Dim {
    const at = this.end;
    this.#top = addDim(this.#top, aligned(bytes));
    return at;
  }

  /** Memory that stays begins anew behind an address. */
  goOnAt(end: Dim, most: UpperBound): void {
    const top = this.names.fresh('top', most);
    this.emit({ kind: 'set', name: top.key, value: subDim(end, this.base) });
    this.#top = top;
  }

  /** What the memory that stays needs at most, and so many bytes behind it. */
  behind(bytes: UpperBound): UpperBound {
    return boundFrom([this.names.most(this.#top), bytes], addDim);
  }

  /** The end of the memory that was reserved last. */
  get reserved(): Dim {
    return this.#reserved;
  }

  /** Everything that was taken, and so many bytes behind it, is there from here on. */
  reserve(bytes: Dim = 0): void {
    const end = addDim(this.end, bytes);
    this.#reserved = end;
    this.emit({ kind: 'reserve', end });
    this.#ends.push(this.behind(this.names.most(bytes)));
  }

  emit(...statements: readonly Statement[]): void {
    this.#statements.push(...statements);
  }

  /** Statements that are part of another. */
  inside(build: () => void): readonly Statement[] {
    const around = this.#statements;
    this.#statements = [];
    build();
    const made = this.#statements;
    this.#statements = around;
    return made;
  }

  /** A name for an element in memory. */
  load(hint: string, from: Dim, dtype: Loaded): Dim {
    const name = this.names.fresh(hint);
    this.emit({ kind: 'load', name: name.key, from, dtype });
    return name;
  }

  /**
   * Calls a routine with memory behind all that is taken. Gives the names of the addresses of its outputs,
   * which hold until something else is put there.
   */
  call(callee: Callee, operands: readonly Located[]): readonly Dim[] {
    const addresses = callee.outputs.map(() => this.names.fresh('result'));
    this.emit({ kind: 'declare', names: addresses.map(({ key }) => key) });
    this.callInto(callee, operands, addresses.map(({ key }) => key)); // prettier-ignore
    return addresses;
  }

  /** The same with names, declared before, for the first of what it returns. */
  callInto(callee: Callee, operands: readonly Located[], results: readonly string[]): void {
    const sizes = this.#sizesOf(callee, operands);
    const values = [
      ...callee.sizes.map((name) => sizes.get(name)!),
      ...operands.map(({ at }) => at),
      this.end,
    ];
    this.emit({ kind: 'call', routine: callee.routine, values, results });
    this.#ends.push(this.behind(this.mostOf(callee.bytes, callee, operands)));
  }

  /** What a bound of a routine's is for certain operands, in the sizes that are given. */
  mostOf(most: UpperBound, callee: Callee, operands: readonly Located[]): UpperBound {
    const sizes = this.#sizesOf(callee, operands);
    return boundFrom([most], (bound) => this.names.most(substituteDim(bound, sizes)));
  }

  #sizesOf({ inputs }: Callee, operands: readonly Located[]): ReadonlyMap<string, Dim> {
    return bindTypes(inputs, operands.map(({ type }) => type)); // prettier-ignore
  }

  /** The routine, and what is to be known of it. */
  finish(name: string, inputs: readonly string[]): Callee {
    const { program } = this;
    const outputs = this.outputs();
    const returns = [
      ...outputs.map(({ at }) => at),
      ...outputs.flatMap(({ type }) => type.shape),
      this.end,
    ];
    const sizes = [...this.givenSizes.keys()];
    const body = withoutUnused(this.#statements, returns);
    return {
      routine: { name, parameters: [...sizes, ...inputs, String(this.base)], body, returns },
      inputs: namedInputs(program),
      sizes,
      outputs: outputs.map(({ type }) => type.shape),
      most: outputs.map(({ type }) => type.shape.map((dim) => this.names.most(dim))),
      bytes: this.bytes,
    };
  }

  /** The statements so far. */
  get statements(): readonly Statement[] {
    return this.#statements;
  }

  #call(id: Value['node']): CallNode {
    return this.program.node(id) as CallNode;
  }

  #operands(id: Value['node']): readonly Located[] {
    return this.program.operands(id).map((value) => ({ at: this.at(value), type: value.type }));
  }

  #island(
    { plan, reads, gives }: NonNullable<PlannedStage['island']>,
    isMovable?: (place: PlannedBuffer) => boolean,
  ): readonly Dim[] {
    const { places, outputs } = plan;
    const addresses: (Dim | undefined)[] = places.map((place) => {
      const { role } = place;
      if (role.kind === 'constant') return this.around.constant(role.data);
      // Behind what it reads is what only tells sizes.
      if (role.kind !== 'input' || isMovable?.(place) === true) return undefined;
      return role.index < reads.length ? this.at(reads[role.index]) : this.base;
    });
    outputs.forEach((source) => {
      if (source.kind !== 'place' || isMovable !== undefined) return;
      const { length, dtype } = places[source.place];
      addresses[source.place] ??= this.take(mulDim(length, bytesOf(dtype)));
    });
    const moving = places.flatMap((_, id) => (addresses[id] === undefined ? [id] : []));
    const shared = shareMemory(moving.map((id) => places[id]));
    moving.forEach((id, i) => (addresses[id] = addDim(this.end, shared.offsets[i])));
    const at = addresses as readonly Dim[];
    this.reserve(shared.bytes);
    this.emit({
      kind: 'run',
      main: this.around.code(plan),
      table: this.base,
      entries: [...plan.sizes, ...at],
    });
    gives.forEach((value, k) => {
      const source = outputs[k];
      if (source.kind === 'place') this.#slots.set(value, at[source.place]);
      else if (source.kind === 'input') this.#slots.set(value, this.at(reads[source.index]));
      else this.#slots.set(value, this.around.constant(source.data));
    });
    return at;
  }

  /** The elements of an array become sizes. */
  #extents(id: Value['node']): void {
    const [{ at, type }] = this.#operands(id);
    const dtype = type.dtype === 'int64' ? 'int64' : 'int32';
    this.#call(id).types[0].shape.forEach((dim, axis) => {
      const from = addDim(at, axis * bytesOf(dtype));
      const isOpen = typeof dim !== 'number' && symbolsOf(dim).has(dim.key) && !this.#known.has(dim.key); // prettier-ignore
      if (!isOpen) {
        const size = this.load('again', from, dtype);
        this.emit({ kind: 'require', test: { relation: '=', dim: subDim(size, dim) }, problem: words`a size is decided twice, and not alike` }); // prettier-ignore
        return;
      }
      this.emit({ kind: 'load', name: dim.key, from, dtype });
      this.#known.set(dim.key, dim);
      const most = this.#mostOf(dim.key, id);
      this.names.bound(dim.key, most);
      const { min, max } = boundsOf(dim);
      this.#within(dim.key, min, max === Infinity ? most : max);
    });
  }

  #within(name: string, min: number, most: UpperBound): void {
    // Without its bounds, which the simplification of sizes would take for granted.
    const size = symbol(name);
    const limit = most instanceof Unbounded ? null : most;
    const problem = words`the data decides that ${name} is ${size}, expected ${min} to ${limit ?? 'any size'}`;
    this.emit({ kind: 'require', test: { relation: '>=', dim: subDim(size, min) }, problem });
    if (limit === null) return;
    this.emit({ kind: 'require', test: { relation: '>=', dim: subDim(limit, size) }, problem });
  }

  /** Learns the sizes that the results of a loop or branch have. */
  #bindResults({ types, op, source }: CallNode, results: readonly LocatedResult[]): void {
    types.forEach(({ shape }, k) => {
      shape.forEach((dim, axis) => {
        const actual = results[k].shape[axis];
        if (typeof dim === 'number' || sameDim(dim, actual)) return;
        const form = linearForm(dim, this.#known);
        if (form === null) throw new InternalError(`nothing tells the size ${String(dim)}`);
        const { unknown, scale, offset } = form;
        if (unknown !== null) {
          const value = floorDivDim(subDim(actual, offset), scale);
          const { name, bounds } = unknown;
          const most = boundFrom([results[k].most[axis], this.names.most(offset)], (all, rest) =>
            floorDivDim(subDim(all, rest), scale),
          );
          const { max } = bounds;
          const decides = this.decides(name) ?? { op: op.name, source };
          const numeric = max === Infinity ? new Unbounded(name, decides.op, decides.source) : max;
          this.emit({ kind: 'set', name, value });
          this.names.bound(name, most instanceof Unbounded ? numeric : most);
          this.#known.set(name, symbol(name, bounds));
          if (scale === 1) return;
        }
        this.emit({ kind: 'require', test: { relation: '=', dim: subDim(dim, actual) }, problem: words`a result has the size ${actual} instead of ${dim}` }); // prettier-ignore
      });
    });
  }

  #require({ condition, problem, expected, actual }: Requirement): void {
    this.emit({ kind: 'require', test: condition, problem: messageOf(problem, expected, actual) });
  }

  /** What a size that the data decides is at most. */
  #mostOf(name: string, id: Value['node']): UpperBound {
    const call = this.#call(id);
    const decides = this.decides(name) ?? { op: call.op.name, source: call.source };
    const { max } = symbolsOfTypes(call.types).get(name)!;
    const axis = call.types[0].shape.findIndex((dim) => String(dim) === name);
    const most = (call.attributes['most'] as readonly (Dim | null)[] | null)?.[axis] ?? null;
    if (most !== null) return this.names.most(most);
    return max === Infinity ? new Unbounded(name, decides.op, decides.source) : max;
  }
}

/** What is wrong, what was expected, and what is there. */
export function messageOf(
  problem: MessageTemplate,
  expected: MessageTemplate,
  actual: MessageTemplate,
): MessageTemplate {
  const parts: (string | Dim)[] = [''];
  const add = (text: string, more: MessageTemplate): void => {
    parts[parts.length - 1] += text + (more[0] as string);
    parts.push(...more.slice(1));
  };
  add('', problem);
  add('; expected ', expected);
  add(', got ', actual);
  return parts;
}

/** The bytes of an array. */
export function bytesAt({ dtype, shape }: TensorType): Dim {
  return mulDim(elementCount(shape), bytesOf(dtype));
}
