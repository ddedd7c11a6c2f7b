import type { Program, Value } from '../../ir/program.js';
import type { Partition } from '../../passes/host/partition.js';
import { viewed } from '../../passes/rewrite/views.js';
import type { Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

/** A number for every value that is there between the stages of a program: never for a view. */
export class ValueSlots {
  readonly #slots: Map<Value, number> = new Map();
  readonly #program: Program;
  /** What is in the slots before a run: the constants. */
  readonly #initial: (Operand | undefined)[] = [];
  /** By stage, the slots that it is the last to read. */
  readonly #last: readonly (readonly number[])[];

  constructor({ program, stages }: Partition) {
    this.#program = program;
    for (const input of program.inputs) this.of(input);
    const lastRead = new Map<number, number>();
    stages.forEach(({ island, extents, calls }, stage) => {
      const operands = [...extents, ...calls].flatMap((id) => program.operands(id));
      for (const value of [...(island?.reads ?? []), ...operands]) {
        lastRead.set(this.of(viewed(program, value)), stage);
      }
    });
    for (const { value } of program.outputs) lastRead.delete(this.of(viewed(program, value)));
    const last: number[][] = stages.map(() => []);
    for (const [slot, stage] of lastRead) last[stage].push(slot);
    this.#last = last;
  }

  of(value: Value): number {
    let slot = this.#slots.get(value);
    if (slot === undefined) {
      slot = this.#slots.size;
      this.#slots.set(value, slot);
      const node = this.#program.node(value.node);
      if (node.kind === 'constant') {
        const { type, data } = node.data;
        this.#initial[slot] = { storage: new Storage(type.dtype, data), shape: type.shape };
      }
    }
    return slot;
  }

  /** What is there when a run starts. */
  values(inputs: readonly Operand[]): (Operand | undefined)[] {
    const values = [...this.#initial];
    // The inputs have the first slots.
    inputs.forEach((input, slot) => (values[slot] = input));
    return values;
  }

  /** Whether a slot holds an input or a constant, which are not the run's own. */
  isGiven(slot: number): boolean {
    return slot < this.#program.inputs.length || this.#initial[slot] !== undefined;
  }

  lastReadIn(stage: number): readonly number[] {
    return this.#last[stage];
  }
}
