import { allocate, type DType, type HostArray } from '../base/dtype.js';

/**
 * The elements of an array, row-major. Its home is an ordinary typed array that the garbage collector
 * owns; `pin` moves long-lived state into the device's memory so that programs use it in place.
 */
export class Storage {
  readonly dtype: DType;
  readonly length: number;
  #home: HostArray;

  constructor(dtype: DType, home: HostArray) {
    this.dtype = dtype;
    this.length = home.length;
    this.#home = home;
  }

  static zeros(dtype: DType, length: number): Storage {
    return new Storage(dtype, allocate(dtype, length));
  }

  /** The elements where they are. Read at once: running a program may move pinned ones. */
  get host(): HostArray {
    return this.#home;
  }

  /** Replaces all elements. */
  write(elements: HostArray): void {
    this.#home = elements;
  }
}
