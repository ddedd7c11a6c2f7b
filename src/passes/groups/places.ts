import { type Dim, elementCount } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import type { Program, Value } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import type { Var } from '../../loop/language/nodes.js';
import type { Group } from './group.js';
import { symbolicUpperBound } from './room.js';
import { isExtents } from '../rewrite/measure.js';
import { viewed } from '../rewrite/views.js';

/** Contents of a buffer of a program. */
export type BufferRole =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly data: ConstantData }
  | { readonly kind: 'temporary' }
  | { readonly kind: 'scratch'; readonly name: string };

/** A row-major buffer in memory whose address is passed to kernels. */
export interface PlannedBuffer {
  readonly role: BufferRole;
  readonly dtype: DType;
  readonly length: Dim;
  /** Live range in steps of the schedule; outputs live to the step after the last. */
  first: number;
  last: number;
  /** For an input's buffer: the output that reuses it, and the step that overwrites it. */
  taken: { readonly output: number; readonly step: number } | null;
}

/** Location of an output's elements after the run. */
export type OutputSource =
  | { readonly kind: 'place'; readonly place: number }
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly data: ConstantData };

/** An address that `main` computes at run time: a row of a buffer, or the current one of two. */
interface Address {
  readonly variable: Var;
  /** The buffers that it may point into. */
  readonly within: readonly number[];
}

/**
 * The memory of a program and the regions of its loops and branches. A location is a number: a buffer, or,
 * below zero, an address.
 */
export class ProgramMemory {
  readonly places: PlannedBuffer[] = [];
  readonly #addresses: Address[] = [];
  /** Upper bounds, in sizes that are known before the program runs, of those that it determines; null for none. */
  readonly #bound: Map<string, Dim | null> = new Map();

  place(role: BufferRole, dtype: DType, length: Dim, first: number, last: number = first): number {
    const most = this.roomFor(length);
    if (most === null) throw new InternalError(`nothing bounds the size ${String(length)}`);
    return this.places.push({ role, dtype, length: most, first, last, taken: null }) - 1;
  }

  /** Records that the program determines the size of a symbol at run time, and returns its symbolic upper bound. */
  bind(symbol: string, most: Dim | null): Dim | null {
    const bound = most === null ? null : this.roomFor(most);
    this.#bound.set(symbol, bound);
    return bound;
  }

  /** Upper bound of a length, in sizes that are known before the program runs; null for none. */
  roomFor(length: Dim): Dim | null {
    if (this.#bound.size === 0) return length;
    return symbolicUpperBound(length, {
      has: (name) => this.#bound.has(name),
      most: (name) => this.#bound.get(name) ?? null,
    });
  }

  /** A location inside of others, at the address in a variable of `main`. */
  address(variable: Var, ...within: readonly number[]): number {
    const places = within.flatMap((location) => this.placesOf(location));
    return -this.#addresses.push({ variable, within: places });
  }

  /** The variable that holds an address; undefined for a buffer. */
  variableOf(location: number): Var | undefined {
    return location < 0 ? this.#addresses[-location - 1].variable : undefined;
  }

  /** Extends the live range of a location to a step. */
  keep(location: number, step: number): void {
    for (const place of this.placesOf(location)) {
      this.places[place].last = Math.max(this.places[place].last, step);
    }
  }

  /** The buffers that a location may lie in. */
  placesOf(location: number): readonly number[] {
    return location < 0 ? this.#addresses[-location - 1].within : [location];
  }
}

/** The steps of a group in the schedule: one, unless it has nested steps. */
export interface StepRange {
  readonly first: number;
  readonly last: number;
}

/** Context of a region, which a program of its own does not have. */
export interface RegionContext {
  readonly memory: ProgramMemory;
  readonly spanOf: (group: Group) => StepRange;
  /** Locations of the inputs. */
  readonly inputs: ReadonlyMap<Value, number>;
  /**
   * Destinations of outputs; called when they are made, with a predicate of operands that may be overwritten.
   */
  readonly outputs: ReadonlyMap<Value, (mayOverwrite: (operand: Value) => boolean) => number>;
}

/** Locations of the results of groups with regions; null for an ordinary group. */
export type PlaceControl = (
  group: Group,
  places: BufferAssignment,
) => ReadonlyMap<Value, number> | null;

/**
 * Buffer assignment of a scheduled program. A result reuses the buffer of an operand that dies at the same
 * step, unless it is an output, which may be needed elsewhere; `replaced` says for outputs which input they
 * are meant to overwrite.
 */
export class BufferAssignment {
  readonly memory: ProgramMemory;
  readonly #program: Program;
  readonly #inputs: ReadonlyMap<Value, number>;
  readonly #around: RegionContext | null;
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
    around: RegionContext | null = null,
    spanOf: (group: Group) => StepRange = around?.spanOf ?? stepsOf(schedule),
  ) {
    this.#program = program;
    this.#around = around;
    this.memory = around?.memory ?? new ProgramMemory();
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

  get all(): readonly PlannedBuffer[] {
    return this.memory.places;
  }

  /** The location of a value, or of the value it views; undefined for a value that no kernel touches. */
  placeOf(value: Value): number | undefined {
    return this.#locations.get(viewed(this.#program, value));
  }

  /** Destination of a region's output. */
  destinationOf(value: Value): number | undefined {
    return this.#around?.outputs.get(value)?.(() => false);
  }

  /** Scratch memory with a live range of these steps. */
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
    this.#locations.set(value, this.memory.place(role, dtype, elementCount(shape), first, last));
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

  /** Assigns an operand's buffer to a result, if a suitable one exists. */
  #takeOver(group: Group, value: Value, step: number): boolean {
    const replaced = this.#replaced.get(value);
    for (const operand of group.reuses.get(value) ?? []) {
      if (this.#lastRead.get(operand) !== step || this.#outputs.has(operand)) continue;
      const place = this.#locations.get(operand);
      // Captured buffers are read by the next iteration, too.
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

  #roleOf(value: Value): BufferRole | undefined {
    const node = this.#program.node(value.node);
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#inputs.get(value)! };
    }
    // The elements of sizes made from data are never read.
    if (node.kind === 'call') return isExtents(node) ? undefined : { kind: 'temporary' };
    if (node.kind === 'check') throw new InternalError('a check has no values');
    return isImmediate(node.data) ? undefined : { kind: 'constant', data: node.data };
  }
}

/** One step for every group, in order. */
function stepsOf(schedule: readonly Group[]): (group: Group) => StepRange {
  const steps = new Map(schedule.map((group, step) => [group, { first: step, last: step }]));
  return (group) => steps.get(group)!;
}

/** True for constants that kernels hold as an immediate instead of reading memory. */
export function isImmediate(data: ConstantData): boolean {
  return data.data.length === 1;
}

/** True for a value that is an immediate constant, so that nothing is read. */
export function isNumber(program: Program, { node }: Value): boolean {
  const made = program.node(node);
  return made.kind === 'constant' && isImmediate(made.data);
}
