import { allocate, bytesOf, type DType, type HostArray } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import { cpu, type Device } from './device.js';

/** Where a pinned storage lies. */
interface Berth {
  readonly device: Device;
  readonly address: number;
}

/** Gives back the memory of pinned storages that were dropped without `unpin`. */
const abandoned = new FinalizationRegistry<Berth>(({ device, address }) => device.release(address));

/**
 * The elements of an array, row-major. Its home is an ordinary typed array that the garbage collector
 * owns; `pin` moves long-lived state into the device's memory so that programs use it in place.
 */
export class Storage {
  readonly dtype: DType;
  readonly length: number;
  /** The elements; while pinned, a view that is fresh as of `#epoch`. */
  #home: HostArray;
  #berth: Berth | null = null;
  #epoch = 0;

  /** Takes the array over. */
  constructor(dtype: DType, home: HostArray) {
    this.dtype = dtype;
    this.length = home.length;
    this.#home = home;
  }

  static zeros(dtype: DType, length: number): Storage {
    return new Storage(dtype, allocate(dtype, length));
  }

  /** The elements where they are. Read at once: when a program runs, those of a pinned one may move. */
  get host(): HostArray {
    const berth = this.#berth;
    if (berth !== null && this.#epoch !== berth.device.epoch) {
      this.#epoch = berth.device.epoch;
      this.#home = berth.device.view(this.dtype, berth.address, this.length);
    }
    return this.#home;
  }

  /** The address in the memory of a device, -1 when it does not lie there. */
  addressOn(device: Device): number {
    const berth = this.#berth;
    return berth !== null && berth.device === device ? berth.address : -1;
  }

  get isPinned(): boolean {
    return this.#berth !== null;
  }

  /** Replaces all elements. An unpinned storage takes the array over; a pinned one copies it. */
  write(elements: HostArray): void {
    if (elements.length !== this.length) {
      throw new ArgumentError('the number of elements of an array cannot change', {
        op: 'Storage.write',
        expected: String(this.length),
        actual: String(elements.length),
      });
    }
    if (this.#berth === null) this.#home = elements;
    else copyElements(this.host, elements);
  }

  /** Moves the elements into the memory of a device; nothing when they already are in it. */
  pin(device: Device = cpu): void {
    if (this.#berth !== null) {
      if (this.#berth.device === device) return;
      this.unpin();
    }
    const elements = this.#home;
    const address = device.take(bytesOf(this.dtype) * this.length);
    this.#berth = { device, address };
    this.#epoch = device.epoch;
    this.#home = device.view(this.dtype, address, this.length);
    copyElements(this.#home, elements);
    abandoned.register(this, this.#berth, this);
  }

  /** Moves the elements back into an array of their own. */
  unpin(): void {
    if (this.#berth === null) return;
    const { device, address } = this.#berth;
    this.#home = this.host.slice();
    this.#berth = null;
    abandoned.unregister(this);
    device.release(address);
  }
}

/** Copies between homes of one dtype. */
export function copyElements(to: HostArray, from: HostArray): void {
  (to as Float32Array).set(from as Float32Array); // one dtype on both sides: the cast only picks an overload
}
