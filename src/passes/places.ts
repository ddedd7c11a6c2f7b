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
}

/** Where the elements of an output are once the program has run. */
export type OutputSource =
  | { readonly kind: 'place'; readonly place: number }
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly data: ConstantData };

/** The places of a scheduled program. */
export class Places {
  readonly all: Place[] = [];
  readonly #program: Program;
  readonly #byValue: Map<Value, number> = new Map();

  constructor(program: Program, schedule: readonly Group[]) {
    this.#program = program;
    schedule.forEach((group, step) => {
      for (const value of group.reads) this.#live(value, step);
      for (const value of group.writes) this.#live(value, step);
    });
    for (const { value } of program.outputs) {
      const place = this.placeOf(value);
      if (place !== undefined) this.all[place].last = schedule.length;
    }
  }

  /** The place of a value, or of what it views; undefined for what no kernel touches. */
  placeOf(value: Value): number | undefined {
    return this.#byValue.get(viewed(this.#program, value));
  }

  /** Memory that only one step needs. */
  addScratch(name: string, dtype: DType, length: Dim, step: number): number {
    this.all.push({ role: { kind: 'scratch', name }, dtype, length, first: step, last: step });
    return this.all.length - 1;
  }

  outputSource(value: Value): OutputSource {
    const base = viewed(this.#program, value);
    const node = this.#program.node(base.node);
    if (node.kind === 'constant') return { kind: 'constant', data: node.data };
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#program.inputs.indexOf(base) };
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
    this.#byValue.set(value, this.all.length);
    this.all.push({ role, dtype, length: sizeOf(shape), first: step, last: step });
  }

  #roleOf(value: Value): PlaceRole | undefined {
    const node = this.#program.node(value.node);
    if (node.kind === 'variable') {
      return { kind: 'input', index: this.#program.inputs.indexOf(value) };
    }
    if (node.kind === 'call') return { kind: 'temporary' };
    return isImmediate(node.data) ? undefined : { kind: 'constant', data: node.data };
  }
}

/** Whether kernels hold a constant as a number instead of reading it from memory. */
export function isImmediate(data: ConstantData): boolean {
  return data.data.length === 1;
}
