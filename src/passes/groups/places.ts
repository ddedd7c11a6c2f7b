import { type Dim, sizeOf } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import type { Program, Value } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import type { Var } from '../../loop/language/nodes.js';
import type { Group } from './group.js';
import { roomFor } from './room.js';
import { isExtents } from '../rewrite/measure.js';
import { viewed } from '../rewrite/views.js';

/** What lies at a place of memory while a program runs. */
export type PlaceRole =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly data: ConstantData }
  | { readonly kind: 'temporary' }
  | { readonly kind: 'scratch'; readonly name: string };

/** A row-major array in memory that kernels are given the address of. */
export interface Place {
  readonly role: PlaceRole;
  readonly dtype: DType;
  readonly length: Dim;
  /** The first and the last step of the schedule that needs it; outputs live to the step after the last. */
  first: number;
  last: number;
  /** For the place of an input: the output that takes it over, and the step that overwrites it. */
  taken: { readonly output: number; readonly step: number } | null;
}

/** Where the elements of an output are once the program has run. */
export type OutputSource =
  | { readonly kind: 'place'; readonly place: number }
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly data: ConstantData };

/** An address that `main` works out while it runs: a row of a place, or the one of two that is current. */
interface Address {
  readonly variable: Var;
  /** The memory that it may point into. */
  readonly within: readonly number[];
}

/**
 * The memory that a program and the regions of its loops and branches work in. A location is a number:
 * a place, or, below zero, an address.
 */
export class Memory {
  readonly places: Place[] = [];
  readonly #addresses: Address[] = [];
  readonly #bound: Set<string> = new Set();

  place(role: PlaceRole, dtype: DType, length: Dim, first: number, last: number = first): number {
    const most = this.roomFor(length);
    if (most === null) throw new InternalError(`nothing bounds the size ${String(length)}`);
    return this.places.push({ role, dtype, length: most, first, last, taken: null }) - 1;
  }

  /** Notes that the program itself finds the size of a symbol while it runs. */
  bind(symbol: string): void {
    this.#bound.add(symbol);
  }

  /** Room for whatever a length will be, in sizes that are known before the program runs; null for none. */
  roomFor(length: Dim): Dim | null {
    return this.#bound.size === 0 ? length : roomFor(length, this.#bound);
  }

  /** A location inside of others, at the address that a variable of `main` has. */
  address(variable: Var, ...within: readonly number[]): number {
    const places = within.flatMap((location) => this.placesOf(location));
    return -this.#addresses.push({ variable, within: places });
  }

  /** The variable that holds an address; undefined for a place. */
  variableOf(location: number): Var | undefined {
    return location < 0 ? this.#addresses[-location - 1].variable : undefined;
  }

  /** Keeps what lies at a location until a step. */
  keep(location: number, step: number): void {
    for (const place of this.placesOf(location)) {
      this.places[place].last = Math.max(this.places[place].last, step);
    }
  }

  /** The places that a location may lie in. */
  placesOf(location: number): readonly number[] {
    return location < 0 ? this.#addresses[-location - 1].within : [location];
  }
}

/** The steps that a group of a schedule takes: one, unless it has steps inside. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** What a region has that a program of its own lacks. */
export interface Surroundings {
  readonly memory: Memory;
  readonly spanOf: (group: Group) => Span;
  /** Where the inputs lie. */
  readonly inputs: ReadonlyMap<Value, number>;
  /** Where outputs are to go; asked for when they are made, with whether an operand may be overwritten. */
  readonly outputs: ReadonlyMap<Value, (mayOverwrite: (operand: Value) => boolean) => number>;
}

/** Where the results of groups with regions go; null for an ordinary group. */
export type PlaceControl = (group: Group, places: Places) => ReadonlyMap<Value, number> | null;

/**
 * The places of a scheduled program. A result takes the place of an operand that dies where the result is
 * made and that it may reuse, unless it is an output, which others may want elsewhere; `replaced` says
 * for outputs which input they are meant to overwrite.
 */
export class Places {
  readonly memory: Memory;
  readonly #program: Program;
  readonly #inputs: ReadonlyMap<Value, number>;
  readonly #around: Surroundings | null;
  readonly #locations: Map<Value, number> = new Map();
  readonly #lastRead: Map<Value, number> = new Map();
  readonly #outputs: ReadonlySet<Value>;
  /** The output and the input it overwrites, by the value of the output. */
  readonly #replaced: Map<Value, { readonly output: number; readonly input: Value }> = new Map();

  constructor(
    program: Program,
    schedule: readonly Group[],
    replaced: readonly (number | null)[] = [],
    control: PlaceControl = () => null,
    around: Surroundings | null = null,
    spanOf: (group: Group) => Span = around?.spanOf ?? stepsOf(schedule),
  ) {
    this.#program = program;
    this.#around = around;
    this.memory = around?.memory ?? new Memory();
    this.#inputs = new Map(program.inputs.map((value, index) => [value, index]));
    this.#outputs = new Set(program.outputs.map(({ value }) => viewed(program, value)));
    for (const [value, location] of around?.inputs ?? []) this.#locations.set(value, location);
    replaced.forEach((index, output) => {
      const value = viewed(program, program.outputs[output].value);
      const input = index === null ? undefined : program.inputs[index];
      if (input !== undefined && !this.#outputs.has(input)) {
        this.#replaced.set(value, { output, input });
      }
    });
    let end = -1;
    for (const group of schedule) {
      const { first, last } = spanOf(group);
      for (const value of group.reads) this.#lastRead.set(value, first);
      end = Math.max(end, last);
    }
    for (const group of schedule) {
      const { first, last } = spanOf(group);
      for (const value of group.reads) this.#live(value, first, last);
      const results = control(group, this);
      for (const value of group.writes) {
        const given = results?.get(value) ?? this.#destination(group, value, first);
        if (given !== undefined) this.#put(value, given, first);
        else if (!this.#takeOver(group, value, first)) this.#live(value, first, first);
      }
    }
    if (around !== null) return;
    for (const value of this.#outputs) {
      const location = this.#locations.get(value);
      if (location !== undefined) this.memory.keep(location, end + 1);
    }
  }

  get all(): readonly Place[] {
    return this.memory.places;
  }

  /** The location of a value, or of what it views; undefined for what no kernel touches. */
  placeOf(value: Value): number | undefined {
    return this.#locations.get(viewed(this.#program, value));
  }

  /** Where an output of a region is to go. */
  destinationOf(value: Value): number | undefined {
    return this.#around?.outputs.get(value)?.(() => false);
  }

  /** Memory that only these steps need. */
  addScratch(name: string, dtype: DType, length: Dim, first: number, last: number = first): number {
    return this.memory.place({ kind: 'scratch', name }, dtype, length, first, last);
  }

  outputSource(value: Value): OutputSource {
    const base = viewed(this.#program, value);
    const node = this.#program.node(base.node);
    if (node.kind === 'constant') return { kind: 'constant', data: node.data };
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#inputs.get(base)! };
    }
    const place = this.#locations.get(base)!;
    if (place < 0) throw new InternalError('an output has no place of its own');
    return { kind: 'place', place };
  }

  #live(value: Value, first: number, last: number): void {
    const known = this.#locations.get(value);
    if (known !== undefined) {
      this.memory.keep(known, last);
      return;
    }
    const role = this.#roleOf(value);
    if (role === undefined) return;
    const { dtype, shape } = value.type;
    this.#locations.set(value, this.memory.place(role, dtype, sizeOf(shape), first, last));
  }

  #put(value: Value, location: number, step: number): void {
    this.#locations.set(value, location);
    this.memory.keep(location, step);
  }

  #destination(group: Group, value: Value, step: number): number | undefined {
    const choose = this.#around?.outputs.get(value);
    return choose?.(
      (operand) =>
        group.reuses.get(value)?.includes(operand) === true &&
        this.#lastRead.get(operand) === step &&
        !this.#outputs.has(operand),
    );
  }

  /** Gives a result the place of an operand, if there is a suitable one. */
  #takeOver(group: Group, value: Value, step: number): boolean {
    const replaced = this.#replaced.get(value);
    for (const operand of group.reuses.get(value) ?? []) {
      if (this.#lastRead.get(operand) !== step || this.#outputs.has(operand)) continue;
      const place = this.#locations.get(operand);
      // What lies outside of a region is there for the next iteration, too.
      if (place === undefined || place < 0 || this.#around?.inputs.has(operand)) continue;
      const { role, taken } = this.memory.places[place];
      const isWanted = this.#outputs.has(value)
        ? replaced?.input === operand && taken === null
        : role.kind === 'temporary' && !group.writes.some((w) => this.#locations.get(w) === place);
      if (!isWanted) continue;
      this.#put(value, place, step);
      if (replaced !== undefined) {
        this.memory.places[place].taken = { output: replaced.output, step };
      }
      return true;
    }
    return false;
  }

  #roleOf(value: Value): PlaceRole | undefined {
    const node = this.#program.node(value.node);
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#inputs.get(value)! };
    }
    // Sizes made of data have no elements that anybody reads.
    if (node.kind === 'call') return isExtents(node) ? undefined : { kind: 'temporary' };
    if (node.kind === 'check') throw new InternalError('a check has no values');
    return isImmediate(node.data) ? undefined : { kind: 'constant', data: node.data };
  }
}

/** One step for every group, in order. */
function stepsOf(schedule: readonly Group[]): (group: Group) => Span {
  const steps = new Map(schedule.map((group, step) => [group, { first: step, last: step }]));
  return (group) => steps.get(group)!;
}

/** Whether kernels hold a constant as a number instead of reading it from memory. */
export function isImmediate(data: ConstantData): boolean {
  return data.data.length === 1;
}

/** Whether a value is such a constant, so that nothing is read. */
export function isNumber(program: Program, { node }: Value): boolean {
  const made = program.node(node);
  return made.kind === 'constant' && isImmediate(made.data);
}
