import { copyElements, type HostArray } from '../../base/dtype.js';
import { DeviceError, InternalError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import { type ProgramPlan, placeBytes, tableLength } from '../../passes/lower/main/plan.js';
import { type Binding, bind, checkDistinct, fits, type LargeMemory } from './binding.js';
import type { Device } from '../memory/device.js';
import type { MemoryHolder } from '../memory/linear.js';
import type { EntryPoint } from './entry.js';
import type { Inspectable, Operand, TierReport } from './executable.js';
import { planToString } from './explain.js';
import type { LargePlaces } from '../memory/large.js';
import { PackedCache, runsUntilPacked } from './kept.js';
import { Lease } from './lease.js';
import { ExhaustedError } from '../memory/exhausted.js';
import { slabCopy } from '../memory/slab.js';
import { Storage } from '../memory/storage.js';
import { LostWorkerError } from '../threads/lost.js';

/** The memory of executables that were dropped. */
const abandoned = new FinalizationRegistry<{
  readonly device: Device;
  readonly address: number;
  readonly kept: PackedCache | null;
  readonly held: WeakRef<MemoryHolder>;
}>(({ device, address, kept, held }) => {
  device.linear.unhold(held);
  device.release(address);
  kept?.release();
});

/** Code for a plan. */
export interface PlannedCode {
  readonly plan: ProgramPlan;
  readonly entry: EntryPoint;
}

type Remake = () => PlannedCode;

const mostBindings = 8;
const none: readonly number[] = [];

/** Below this many elements a loop copies faster than a call of `set`. */
const fewElements = 24;

/**
 * A plan with code and memory. Owns one region of the device, which holds its constants and the table
 * that `main` reads; everything else lies in the shared arena or in pinned storage.
 */
export class Executor implements Inspectable, MemoryHolder {
  readonly program: Program;
  #plan: ProgramPlan;
  readonly #device: Device;
  /** Null when the memory that it was made for is gone. */
  #entry: EntryPoint | null;
  #table: number;
  #constants: ReadonlyMap<number, number>;
  /** The current one, then earlier ones: sizes often alternate between a few. */
  readonly #bindings: (Binding | undefined)[] = [];
  #entries: Int32Array = new Int32Array(0);
  /** Null where nothing is kept from run to run. */
  #kept: PackedCache | null;
  readonly #remake: Remake | null;
  readonly #held: WeakRef<MemoryHolder> = new WeakRef(this);

  /** @param remake Plans the program and makes code once more, for the addresses that the device then has. */
  constructor(
    program: Program,
    plan: ProgramPlan,
    device: Device,
    entry: EntryPoint,
    remake: Remake | null = null,
  ) {
    this.program = program;
    this.#plan = plan;
    this.#device = device;
    this.#entry = entry;
    this.#remake = remake;
    const { table, constants } = residentMemory(plan, device);
    this.#table = table;
    this.#constants = constants;
    this.#kept = plan.kept.length === 0 ? null : new PackedCache(plan, device);
    this.#register();
  }

  /** Gives the memory back at once. It must not be run again. */
  release(): void {
    abandoned.unregister(this);
    this.#device.linear.unhold(this.#held);
    this.#device.release(this.#table);
    this.#kept?.release();
  }

  memoryReplaced(): void {
    if (!this.#isStale) return;
    this.#entry = null;
    this.#entries = new Int32Array(0);
    this.#bindings.length = 0;
  }

  #register(): void {
    const { linear } = this.#device;
    const owned = {
      device: this.#device,
      address: this.#table,
      kept: this.#kept,
      held: this.#held,
    };
    abandoned.register(this, owned, this);
    linear.hold(this.#held);
  }

  get #isStale(): boolean {
    return this.#plan.addresses === 'i32' && this.#device.addresses === 'i64';
  }

  /** Goes on with code for the addresses that the device has by now. */
  #renew(): void {
    if (this.#remake === null)
      throw new InternalError('code of 32-bit addresses cannot be made again for 64');
    this.release();
    const device = this.#device;
    const { plan, entry } = this.#remake();
    const { table, constants } = residentMemory(plan, device);
    this.#plan = plan;
    this.#entry = entry;
    this.#table = table;
    this.#constants = constants;
    this.#entries = new Int32Array(0);
    this.#bindings.length = 0;
    this.#kept = plan.kept.length === 0 ? null : new PackedCache(plan, device);
    this.#register();
  }

  run(
    inputs: readonly Operand[],
    into?: readonly (Storage | null)[],
    sizes: readonly number[] = none,
  ): readonly Operand[] {
    this.#kept?.look(inputs);
    if (into !== undefined) {
      for (const target of into) target?.changes();
    }
    let binding = this.#bindings[0];
    if (binding === undefined || !fits(binding, this.#device, inputs, into, sizes)) {
      if (into !== undefined) checkDistinct(this.program, into);
      binding = this.#rebind(inputs, into, sizes);
    } else if (into !== undefined && binding.mayCollide) checkDistinct(this.program, into);
    if (binding.large !== null) return this.#runLarge(binding, binding.large, inputs, sizes, into);
    this.#call(binding, inputs, null);
    return into === undefined
      ? this.#freshResults(binding, inputs)
      : this.#resultsInto(binding, inputs, into, null);
  }

  /** True if there is memory for a run on these operands. */
  hasRoom(
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): boolean {
    try {
      const [binding] = this.#bindings;
      if (binding === undefined || !fits(binding, this.#device, inputs, into, sizes))
        this.#rebind(inputs, into, sizes);
      return true;
    } catch (error) {
      if (error instanceof ExhaustedError) return false;
      throw error;
    }
  }

  /** The runs on the same operands in which it does all that it does on them, each in another way. */
  get ways(): number {
    return this.#kept === null ? 1 : runsUntilPacked;
  }

  /** It is all of its program. */
  parts(): readonly [{ readonly title: string; readonly plan: ProgramPlan }] {
    return [{ title: '', plan: this.#plan }];
  }

  /** By itself it is as it was made: `Tiered` knows more. */
  tiers(): readonly TierReport[] {
    return [{ part: '', tier: 'interpreter', since: null, reason: 'asked for', note: null }];
  }

  toString(): string {
    return planToString(this.#plan);
  }

  /** A run in which some operands and results are not copied. */
  #runLarge(
    binding: Binding,
    large: LargePlaces,
    inputs: readonly Operand[],
    sizes: readonly number[],
    into: readonly (Storage | null)[] = [],
  ): readonly Operand[] {
    const device = this.#device;
    const plan = this.#plan;
    const lease = new Lease(device, large);
    let isThere: boolean;
    try {
      isThere = lease.take(inputs);
      if (isThere) {
        // Bringing operands in may have made the memory grow; only the views are other ones then.
        const current =
          binding.epoch === device.epoch ? binding : this.#rebind(inputs, into, sizes, 'leased');
        if (this.#plan === plan) {
          lease.enter(this.#tableView(), current.isWide);
          this.#call(current, inputs, lease);
          return this.#resultsInto(current, inputs, into, lease);
        }
      }
    } finally {
      lease.end();
    }
    // The memory that was taken needs other addresses, and with them another plan.
    if (isThere) return this.run(inputs, into, sizes);
    const copying = this.#rebind(inputs, into, sizes, 'copied');
    this.#call(copying, inputs, null);
    return this.#resultsInto(copying, inputs, into, null);
  }

  /** Brings operands to where the code reads them, and runs it. */
  #call(binding: Binding, inputs: readonly Operand[], lease: Lease | null): void {
    stage(binding, inputs);
    lease?.stage(inputs);
    this.#kept?.enter(this.#tableView(), binding.table);
    try {
      this.#entry!(this.#table, binding.gain);
    } catch (error) {
      if (!(error instanceof LostWorkerError)) throw error;
      this.#callAgain(binding, inputs, lease);
    }
    this.#kept?.done();
  }

  /** A worker has died half-way: the run is done again by this thread alone, from its operands. */
  #callAgain(binding: Binding, inputs: readonly Operand[], lease: Lease | null): void {
    const { overwritten } = binding;
    if (overwritten.length > 0) {
      throw new DeviceError('a worker has died while arrays were updated in place', {
        op: 'run',
        actual: `${overwritten.join(', ')} may be partly old and partly new`,
        advice: 'load them from a checkpoint; with config.threads = 1 there are no workers',
      });
    }
    stage(binding, inputs);
    lease?.stage(inputs);
    this.#entry!(this.#table, 0);
  }

  /**
   * Makes another binding the current one: an earlier one that fits, or a new one. One that copies everything
   * stays until something else changes.
   */
  #rebind(
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
    memory: LargeMemory = 'if possible',
  ): Binding {
    const device = this.#device;
    if (this.#isStale) this.#renew();
    const known =
      memory !== 'if possible'
        ? -1
        : this.#bindings.findIndex(
            (earlier) => earlier !== undefined && fits(earlier, device, inputs, into, sizes),
          );
    let binding =
      this.#bindings[known] ??
      bind(this.#plan, device, this.#constants, inputs, into, memory, sizes);
    // The arena may have taken the memory beyond 32 bits.
    if (this.#isStale) {
      this.#renew();
      binding = bind(this.#plan, device, this.#constants, inputs, into, memory, sizes);
    }
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
      this.#entries = new Int32Array(buffer, this.#table, tableLength(this.#plan));
    }
    return this.#entries;
  }

  #freshResults(binding: Binding, inputs: readonly Operand[]): readonly Operand[] {
    const { results, outputShapes } = binding;
    const operands: Operand[] = [];
    for (let k = 0; k < results.length; k++) {
      const elements = results[k] ?? this.#passedThrough(k, inputs);
      const { dtype } = binding.outputTypes[k];
      operands.push({
        storage: new Storage(dtype, slabCopy(dtype, elements)),
        shape: outputShapes[k],
      });
    }
    return operands;
  }

  /** The results, each where it is wanted. `lease` has those that the binding does not. */
  #resultsInto(
    binding: Binding,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[],
    lease: Lease | null,
  ): readonly Operand[] {
    const { results, outputShapes, inPlace } = binding;
    // What is an operand must be read before the first storage is written: that may be its own.
    const passed: (HostArray | null)[] = [];
    for (let k = 0; k < results.length; k++) {
      passed[k] =
        this.#plan.outputs[k].kind === 'place' ? null : this.#passedThrough(k, inputs).slice();
    }
    const operands: Operand[] = [];
    for (let k = 0; k < results.length; k++) {
      const target = into[k] ?? null;
      const elements = passed[k] ?? results[k];
      const shape = outputShapes[k];
      if (elements === null) operands.push({ storage: this.#handOut(lease!, k, target), shape });
      else {
        const { dtype } = binding.outputTypes[k];
        if (target !== null && !inPlace[k]) target.fill(elements);
        operands.push({
          storage: target ?? new Storage(dtype, passed[k] ?? slabCopy(dtype, elements)),
          shape,
        });
      }
    }
    return operands;
  }

  /** A large result: the first output that it is gets its memory, others get copies. */
  #handOut(lease: Lease, k: number, target: Storage | null): Storage {
    const { place } = this.#plan.outputs[k] as { readonly place: number };
    const result = lease.at(place);
    if (result.output === k) return lease.handOut(result, target);
    const elements = lease.elements(result);
    target?.fill(elements);
    return target ?? new Storage(result.dtype, elements.slice());
  }

  /** The elements of an output that is an input or a constant, to be read at once. */
  #passedThrough(k: number, inputs: readonly Operand[]): HostArray {
    const source = this.#plan.outputs[k];
    if (source.kind === 'constant') return source.data.data;
    return inputs[(source as { readonly index: number }).index].storage.elements;
  }
}

/** Copies the operands that are not used where they are. */
function stage({ staging }: Binding, inputs: readonly Operand[]): void {
  for (let i = 0; i < staging.length; i++) {
    const place = staging[i];
    if (place !== null) copy(place, inputs[i].storage.host);
  }
}

function copy(to: HostArray, from: HostArray): void {
  const { length } = from;
  if (length > fewElements) copyElements(to, from);
  else for (let i = 0; i < length; i++) to[i] = from[i];
}

/** Takes one region for the table and the constants, and fills in the constants. */
function residentMemory(
  plan: ProgramPlan,
  device: Device,
): { readonly table: number; readonly constants: ReadonlyMap<number, number> } {
  const align = (bytes: number): number => Math.ceil(bytes / 64) * 64;
  let bytes = align(4 * tableLength(plan));
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
