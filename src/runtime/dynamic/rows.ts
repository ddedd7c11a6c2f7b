import { allocate, bytesOf, type DType, type HostArray } from '../../base/dtype.js';
import type { Operand } from '../executable.js';
import { Storage } from '../storage.js';

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** An operand with elements of its own. */
export function copyOf({ storage, shape }: Operand): Operand {
  return { storage: new Storage(storage.dtype, storage.copy()), shape };
}

/** An array that is read row by row. */
export class Rows {
  readonly #storage: Storage;
  readonly #shape: readonly number[];
  readonly #length: number;

  constructor({ storage, shape }: Operand) {
    this.#storage = storage;
    this.#shape = shape.slice(1);
    this.#length = elementCount(this.#shape);
  }

  at(row: number): Operand {
    const { dtype, isPinned, host } = this.#storage;
    const [from, to] = [row * this.#length, (row + 1) * this.#length];
    // The memory that a pinned array lies in may move before the row is read.
    const elements = isPinned ? host.slice(from, to) : host.subarray(from, to);
    return { storage: new Storage(dtype, elements), shape: this.#shape };
  }
}

/** The least number of rows that room is made for where nobody knows how many there will be. */
export const leastCapacity = 64;

/** An array that is written row by row, which grows where it has to. Rows that nobody writes are zero. */
export class StackedRows {
  readonly #dtype: DType;
  readonly #shape: readonly number[];
  readonly #length: number;
  #capacity: number;
  #home: HostArray;

  constructor(dtype: DType, rowShape: readonly number[], capacity: number) {
    this.#dtype = dtype;
    this.#shape = rowShape;
    this.#length = elementCount(rowShape);
    this.#capacity = capacity;
    this.#home = allocate(dtype, capacity * this.#length);
  }

  get rowBytes(): number {
    return this.#length * bytesOf(this.#dtype);
  }

  /** Where rows are to be written; what was written before stays. */
  at(row: number, count = 1): Storage {
    this.#reserve(row + count);
    const home = this.#home.subarray(row * this.#length, (row + count) * this.#length);
    return Storage.window(this.#dtype, home);
  }

  /** The first rows as an array. */
  first(rows: number): Operand {
    this.#reserve(rows);
    const length = rows * this.#length;
    const home = length === this.#home.length ? this.#home : this.#home.slice(0, length);
    return { storage: new Storage(this.#dtype, home), shape: [rows, ...this.#shape] };
  }

  /** Makes room for so many rows. */
  #reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    this.#capacity = Math.max(rows, 2 * this.#capacity, leastCapacity);
    const home = allocate(this.#dtype, this.#capacity * this.#length);
    (home as Float32Array).set(this.#home as Float32Array); // one dtype: the cast only picks an overload
    this.#home = home;
  }
}
