import type { HostArray } from '../base/dtype.js';
import type { Program } from '../ir/program.js';
import type { Plan } from '../passes/lower/plan.js';
import { placeBytes } from '../passes/lower/plan.js';
import { type Binding, bind, checkDistinct, fits } from './binding.js';
import type { Device } from './device.js';
import type { Entry } from './entry.js';
import type { Inspectable, Operand, TierReport } from './executable.js';
import { planToString } from './explain.js';
import { copyElements, Storage } from './storage.js';

/** The memory of executables that were dropped. */
const abandoned = new FinalizationRegistry<{ device: Device; address: number }>(
  ({ device, address }) => device.release(address),
);

const mostBindings = 8;

/** Below this many elements a loop copies faster than a call of `set`. */
const fewElements = 24;

/**
 * A plan with code and memory. Owns one region of the device, which holds its constants and the table
 * that `main` reads; everything else lies in the shared arena or in pinned storage.
 */
export class Executor implements Inspectable {
  readonly program: Program;
  readonly #plan: Plan;
  readonly #device: Device;
  readonly #entry: Entry;
  readonly #table: number;
  readonly #constants: ReadonlyMap<number, number>;
  /** The current one, then earlier ones: sizes often alternate between a few. */
  readonly #bindings: (Binding | undefined)[] = [];
  #entries: Int32Array = new Int32Array(0);

  constructor(program: Program, plan: Plan, device: Device, entry: Entry) {
    this.program = program;
    this.#plan = plan;
    this.#device = device;
    this.#entry = entry;
    const { table, constants } = residentMemory(plan, device);
    this.#table = table;
    this.#constants = constants;
    abandoned.register(this, { device, address: table }, this);
  }

  /** Gives the memory back at once. It must not be run again. */
  release(): void {
    abandoned.unregister(this);
    this.#device.release(this.#table);
  }

  run(inputs: readonly Operand[], into?: readonly (Storage | null)[]): readonly Operand[] {
    let binding = this.#bindings[0];
    if (binding === undefined || !fits(binding, this.#device, inputs, into)) {
      if (into !== undefined) checkDistinct(this.program, into);
      binding = this.#rebind(inputs, into);
    } else if (into !== undefined && binding.mayCollide) checkDistinct(this.program, into);
    const { staging } = binding;
    for (let i = 0; i < staging.length; i++) {
      const place = staging[i];
      if (place !== null) copy(place, inputs[i].storage.host);
    }
    this.#entry(this.#table, binding.gain);
    return into === undefined
      ? this.#freshResults(binding, inputs)
      : this.#resultsInto(binding, inputs, into);
  }

  /** It is all of its program. */
  parts(): readonly [{ readonly title: string; readonly plan: Plan }] {
    return [{ title: '', plan: this.#plan }];
  }

  /** By itself it is as it was made: `Tiered` knows more. */
  tiers(): readonly TierReport[] {
    return [{ part: '', tier: 'interpreter', since: null, reason: 'asked for', note: null }];
  }

  toString(): string {
    return planToString(this.#plan);
  }

  /** Makes another binding the current one: an earlier one that fits, or a new one. */
  #rebind(inputs: readonly Operand[], into: readonly (Storage | null)[] | undefined): Binding {
    const device = this.#device;
    const known = this.#bindings.findIndex(
      (earlier) => earlier !== undefined && fits(earlier, device, inputs, into),
    );
    const binding =
      this.#bindings[known] ?? bind(this.#plan, device, this.#constants, inputs, into);
    // Whatever was the current one goes to the place that this one leaves, or to the end.
    const [previous] = this.#bindings;
    if (known > 0) this.#bindings[known] = previous;
    else if (previous !== undefined && previous.epoch === device.epoch) {
      this.#bindings.push(previous);
      if (this.#bindings.length > mostBindings) this.#bindings.splice(1, 1);
    }
    this.#bindings[0] = binding;
    this.#tableView().set(binding.table);
    return binding;
  }

  #tableView(): Int32Array {
    const { buffer } = this.#device;
    if (this.#entries.buffer !== buffer) {
      const { sizes, places } = this.#plan;
      this.#entries = new Int32Array(buffer, this.#table, sizes.length + places.length);
    }
    return this.#entries;
  }

  #freshResults(binding: Binding, inputs: readonly Operand[]): readonly Operand[] {
    const { results, outputShapes } = binding;
    const operands: Operand[] = [];
    for (let k = 0; k < results.length; k++) {
      const elements = results[k] ?? this.#passedThrough(k, inputs);
      operands.push({
        storage: new Storage(binding.outputTypes[k].dtype, elements.slice()),
        shape: outputShapes[k],
      });
    }
    return operands;
  }

  #resultsInto(
    binding: Binding,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[],
  ): readonly Operand[] {
    const { results, outputShapes, inPlace } = binding;
    // What is an operand must be read before the first storage is written: that may be its own.
    const passed: HostArray[] = [];
    for (let k = 0; k < results.length; k++) {
      if (results[k] === null) passed[k] = this.#passedThrough(k, inputs).slice();
    }
    const operands: Operand[] = [];
    for (let k = 0; k < results.length; k++) {
      let storage = into[k] ?? null;
      if (storage === null) {
        const { dtype } = binding.outputTypes[k];
        storage = new Storage(dtype, passed[k] ?? results[k]!.slice());
      } else if (!inPlace[k]) copyElements(storage.host, passed[k] ?? results[k]!);
      operands.push({ storage, shape: outputShapes[k] });
    }
    return operands;
  }

  /** The elements of an output that is an input or a constant. */
  #passedThrough(k: number, inputs: readonly Operand[]): HostArray {
    const source = this.#plan.outputs[k];
    if (source.kind === 'constant') return source.data.data;
    return inputs[(source as { readonly index: number }).index].storage.host;
  }
}

function copy(to: HostArray, from: HostArray): void {
  const { length } = from;
  if (length > fewElements) copyElements(to, from);
  else for (let i = 0; i < length; i++) to[i] = from[i];
}

/** Takes one region for the table and the constants, and fills in the constants. */
function residentMemory(
  plan: Plan,
  device: Device,
): { readonly table: number; readonly constants: ReadonlyMap<number, number> } {
  const align = (bytes: number): number => Math.ceil(bytes / 64) * 64;
  let bytes = align(4 * (plan.sizes.length + plan.places.length));
  const offsets = new Map<number, number>();
  plan.places.forEach((place, id) => {
    if (place.role.kind !== 'constant') return;
    offsets.set(id, bytes);
    bytes += align(placeBytes(place, place.role.data.data.length));
  });
  const table = device.take(bytes);
  const constants = new Map<number, number>();
  for (const [id, offset] of offsets) {
    const { role, dtype } = plan.places[id];
    if (role.kind !== 'constant') continue;
    constants.set(id, table + offset);
    copyElements(device.view(dtype, table + offset, role.data.data.length), role.data.data);
  }
  return { table, constants };
}
