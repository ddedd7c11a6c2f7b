import { bytesOf, copyElements, type HostArray } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import type { Device } from '../memory/device.js';
import { enterAddress } from './binding.js';
import type { Operand } from './executable.js';
import type { LargePlaces, LargeResult } from '../memory/large.js';
import { Storage } from '../memory/storage.js';

/** The memory that large operands and results of one run lie in. To be ended in any case. */
export class Lease {
  readonly #device: Device;
  readonly #large: LargePlaces;
  /**
   * Memory that is given back at the end: of operands that do not stay, and of results that nobody takes
   * over.
   */
  readonly #guests: number[] = [];
  /** Addresses of the operands, then of the results. */
  readonly #addresses: number[] = [];

  constructor(device: Device, large: LargePlaces) {
    this.#device = device;
    this.#large = large;
    device.residents.begin();
  }

  /** Brings operands in and takes memory for results. False when there is no room for all of that at once. */
  take(inputs: readonly Operand[]): boolean {
    const device = this.#device;
    const { operands, results } = this.#large;
    try {
      for (const { index } of operands) {
        this.#addresses.push(inputs[index].storage.lend(device, this.#guests));
      }
      for (const { dtype, length } of results) {
        const address = device.takeForResult(bytesOf(dtype) * length);
        this.#guests.push(address);
        this.#addresses.push(address);
      }
    } catch (error) {
      if (error instanceof DeviceError) return false;
      throw error;
    }
    return true;
  }

  /** Writes the addresses where `main` reads them. */
  enter(table: Int32Array, isWide: boolean): void {
    const { operands, results } = this.#large;
    let at = 0;
    for (const { entry } of operands) enterAddress(table, entry, this.#addresses[at++], isWide);
    for (const { entry } of results) enterAddress(table, entry, this.#addresses[at++], isWide);
  }

  /** Copies the operands that results take over to where those will be. */
  stage(inputs: readonly Operand[]): void {
    for (const result of this.#large.results) {
      if (result.before < 0) continue;
      copyElements(this.elements(result), inputs[result.before].storage.elements);
    }
  }

  /** The result that lies at a place. */
  at(place: number): LargeResult {
    return this.#large.results.find((result) => result.place === place)!;
  }

  /** The elements of a result, to be read at once. */
  elements(result: LargeResult): HostArray {
    return this.#device.view(result.dtype, this.#addressOf(result), result.length);
  }

  /** A result as an array, or as the elements of a storage: with the memory that it was written to. */
  handOut(result: LargeResult, target: Storage | null): Storage {
    const address = this.#addressOf(result);
    const { dtype, length } = result;
    const isTaken = target === null || target.adopt(this.#device, address);
    if (isTaken) this.#guests.splice(this.#guests.indexOf(address), 1);
    return target ?? Storage.onDevice(dtype, length, this.#device, address);
  }

  end(): void {
    for (const address of this.#guests) this.#device.release(address);
    this.#device.residents.end();
  }

  #addressOf(result: LargeResult): number {
    const { operands, results } = this.#large;
    return this.#addresses[operands.length + results.indexOf(result)];
  }
}
