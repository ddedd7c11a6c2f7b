import { type Dim, sizeOf } from '../base/dim.js';
import type { DType } from '../base/dtype.js';
import type { Program, Value } from '../ir/program.js';
import type { ConstantData } from '../ir/types.js';
import type { Group } from './fuse.js';
import { viewed } from './views.js';

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

/**
 * The places of a scheduled program. A result takes the place of an operand that dies where the result is
 * made and that it may reuse, unless it is an output, which others may want elsewhere; `replaced` says
 * for outputs which input they are meant to overwrite.
 */
export class Places {
  readonly all: Place[] = [];
  readonly #program: Program;
  readonly #inputs: ReadonlyMap<Value, number>;
  readonly #byValue: Map<Value, number> = new Map();
  readonly #lastRead: Map<Value, number> = new Map();
  readonly #outputs: ReadonlySet<Value>;
  /** The output and the input it overwrites, by the value of the output. */
  readonly #replaced: Map<Value, { readonly output: number; readonly input: Value }> = new Map();

  constructor(
    program: Program,
    schedule: readonly Group[],
    replaced: readonly (number | null)[] = [],
  ) {
    this.#program = program;
    this.#inputs = new Map(program.inputs.map((value, index) => [value, index]));
    this.#outputs = new Set(program.outputs.map(({ value }) => viewed(program, value)));
    replaced.forEach((index, output) => {
      const value = viewed(program, program.outputs[output].value);
      const input = index === null ? undefined : program.inputs[index];
      if (input !== undefined && !this.#outputs.has(input)) {
        this.#replaced.set(value, { output, input });
      }
    });
    schedule.forEach(({ reads }, step) => {
      for (const value of reads) this.#lastRead.set(value, step);
    });
    schedule.forEach((group, step) => {
      for (const value of group.reads) this.#live(value, step);
      for (const value of group.writes) {
        if (!this.#takeOver(group, value, step)) this.#live(value, step);
      }
    });
    for (const value of this.#outputs) {
      const place = this.#byValue.get(value);
      if (place !== undefined) this.all[place].last = schedule.length;
    }
  }

  /** The place of a value, or of what it views; undefined for what no kernel touches. */
  placeOf(value: Value): number | undefined {
    return this.#byValue.get(viewed(this.#program, value));
  }

  /** Memory that only one step needs. */
  addScratch(name: string, dtype: DType, length: Dim, step: number): number {
    return this.#add({ kind: 'scratch', name }, dtype, length, step);
  }

  outputSource(value: Value): OutputSource {
    const base = viewed(this.#program, value);
    const node = this.#program.node(base.node);
    if (node.kind === 'constant') return { kind: 'constant', data: node.data };
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#inputs.get(base)! };
    }
    return { kind: 'place', place: this.#byValue.get(base)! };
  }

  #live(value: Value, step: number): void {
    const known = this.#byValue.get(value);
    if (known !== undefined) {
      this.all[known].last = step;
      return;
    }
    const role = this.#roleOf(value);
    if (role === undefined) return;
    const { dtype, shape } = value.type;
    this.#byValue.set(value, this.#add(role, dtype, sizeOf(shape), step));
  }

  #add(role: PlaceRole, dtype: DType, length: Dim, step: number): number {
    return this.all.push({ role, dtype, length, first: step, last: step, taken: null }) - 1;
  }

  /** Gives a result the place of an operand, if there is a suitable one. */
  #takeOver(group: Group, value: Value, step: number): boolean {
    const replaced = this.#replaced.get(value);
    for (const operand of group.reuses.get(value) ?? []) {
      if (this.#lastRead.get(operand) !== step || this.#outputs.has(operand)) continue;
      const place = this.#byValue.get(operand);
      if (place === undefined) continue;
      const { role, taken } = this.all[place];
      const isWanted = this.#outputs.has(value)
        ? replaced?.input === operand && taken === null
        : role.kind === 'temporary' && !group.writes.some((w) => this.#byValue.get(w) === place);
      if (!isWanted) continue;
      this.#byValue.set(value, place);
      if (replaced !== undefined) this.all[place].taken = { output: replaced.output, step };
      return true;
    }
    return false;
  }

  #roleOf(value: Value): PlaceRole | undefined {
    const node = this.#program.node(value.node);
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#inputs.get(value)! };
    }
    if (node.kind === 'call') return { kind: 'temporary' };
    return isImmediate(node.data) ? undefined : { kind: 'constant', data: node.data };
  }
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
