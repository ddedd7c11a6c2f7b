import { bytesOf } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import { packedStates } from '../../ops/declare/lowering.js';
import type { PackedBuffer } from '../../passes/lower/main/kept.js';
import { type ProgramPlan, placeEntry, stateEntry } from '../../passes/lower/main/plan.js';
import type { Device } from '../memory/device.js';
import { enterAddress } from './binding.js';
import type { Operand } from './executable.js';
import { Residence } from '../memory/residents.js';

/** One of the things that a program keeps. */
interface Entry {
  readonly place: PackedBuffer;
  /** Of the inputs that it is made of, in the run before. */
  readonly versions: number[];
  /** True if these inputs are the same as in the run before. */
  isSteady: boolean;
  /** Its memory, which has to go where others need it; null until the inputs have been steady once. */
  residence: Residence | null;
  /** True if it has been made of these inputs. */
  isFull: boolean;
}

/** Runs after which an executor that keeps something has been in all of `keptStates`. */
export const runsUntilPacked = 3;

/**
 * Buffers that the kernels of a plan keep from run to run, such as weights in the order in which products
 * read them. It gets memory once its inputs are the same in two runs in a row, so that inputs that change
 * with every run, as weights do in training, cost nothing.
 */
export class PackedCache {
  readonly #plan: ProgramPlan;
  readonly #device: Device;
  readonly #entries: readonly Entry[];

  constructor(plan: ProgramPlan, device: Device) {
    this.#plan = plan;
    this.#device = device;
    this.#entries = plan.kept.map((place) => ({
      place,
      versions: place.inputs.map(() => 0),
      isSteady: false,
      residence: null,
      isFull: false,
    }));
  }

  /** Looks at the operands of a run. May take memory, so that views and addresses of it become stale. */
  look(inputs: readonly Operand[]): void {
    for (const entry of this.#entries) {
      const { place, versions } = entry;
      entry.isSteady = true;
      for (let i = 0; i < versions.length; i++) {
        const { version } = inputs[place.inputs[i]].storage;
        if (version !== versions[i]) entry.isSteady = false;
        versions[i] = version;
      }
      if (!entry.isSteady) entry.isFull = false;
      else if (!isThere(entry)) this.#makeRoom(entry);
    }
  }

  /** Writes into the table what `main` reads of it; `usual` has the addresses for when nothing is kept. */
  enter(table: Int32Array, usual: Int32Array): void {
    const plan = this.#plan;
    const isWide = plan.addresses === 'i64';
    for (const [k, entry] of this.#entries.entries()) {
      // Operands and results of the run may have needed the memory.
      const isKept = entry.isSteady && isThere(entry);
      if (!isKept) entry.isFull = false;
      else this.#device.residents.use(entry.residence!);
      table[stateEntry(plan, k)] = isKept ? packedStates[entry.isFull ? 'full' : 'empty'] : packedStates.nothing; // prettier-ignore
      for (const id of entry.place.places) {
        const at = placeEntry(plan, id);
        if (isKept) enterAddress(table, at, entry.residence!.address, isWide);
        else for (let word = at; word < at + (isWide ? 2 : 1); word++) table[word] = usual[word];
      }
    }
  }

  /** A run has come to its end. */
  done(): void {
    for (const entry of this.#entries) entry.isFull = entry.isSteady && isThere(entry);
  }

  /** Gives the memory back. */
  release(): void {
    for (const entry of this.#entries) {
      if (entry.residence !== null) this.#device.residents.remove(entry.residence);
      entry.residence = null;
      entry.isFull = false;
    }
  }

  /** Takes memory for it; where there is none, nothing is kept in this run. */
  #makeRoom(entry: Entry): void {
    const { dtype, whole } = entry.place;
    const { residents } = this.#device;
    entry.isFull = false;
    const bytes = bytesOf(dtype) * whole;
    if (bytes > residents.budget) return;
    try {
      const address = this.#device.take(bytes);
      if (entry.residence !== null) residents.missed(entry.residence);
      entry.residence = new Residence(residents, dtype, whole, address, false);
    } catch (error) {
      if (error instanceof DeviceError) return;
      throw error;
    }
    residents.add(entry.residence);
  }
}

function isThere({ residence }: Entry): boolean {
  return residence !== null && residence.address >= 0;
}
