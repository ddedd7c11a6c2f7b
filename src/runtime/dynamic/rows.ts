import { allocate, bytesOf, type DType, type HostArray } from '../../base/dtype.js';
import { inContext, ShapeError } from '../../base/errors.js';
import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { undecidedSizes } from '../../ops/control/body.js';
import type { Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** An operand with elements of its own. */
export function copyOperand({ storage, shape }: Operand): Operand {
  return { storage: new Storage(storage.dtype, storage.copy()), shape };
}

/** An array that is read row by row. */
export class RowReader {
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

/** What is written row by row, for as many rows as there is room for. */
export interface RowDestination {
  readonly rowBytes: number;
  /** Where a row is to be written; null where `keep` takes it when it has been made. */
  at(row: number, count?: number): Storage | null;
  keep(row: number, made: Operand): void;
  /** The first rows as an array. */
  first(rows: number): Operand;
}

/** Rows whose sizes the first one decides; the others must have the same. */
export class AgreedRows implements RowDestination {
  readonly rowBytes = 0;
  readonly #type: TensorType;
  readonly #what: string;
  readonly #call: CallNode;
  readonly #capacity: number;
  #shape: readonly number[] | null = null;
  #rows: StackedRows | null = null;

  /** @param what How messages name it. @param capacity How many rows are likely. */
  constructor(type: TensorType, what: string, call: CallNode, capacity: number) {
    this.#type = type;
    this.#what = what;
    this.#call = call;
    this.#capacity = capacity;
  }

  at(): null {
    return null;
  }

  keep(row: number, { storage, shape }: Operand): void {
    this.#rows ??= new StackedRows(storage.dtype, shape, this.#capacity);
    this.#shape ??= shape;
    const wanted = this.#shape;
    if (shape.length !== wanted.length || shape.some((size, axis) => size !== wanted[axis])) {
      throw new ShapeError(`${this.#what} changes its shape`, {
        op: this.#call.op.name,
        expected: `[${wanted.join(', ')}], as in the iterations before`,
        actual: `[${shape.join(', ')}]`,
        advice: 'reduce it, or write it into an array of fixed size, inside the body',
      });
    }
    this.#rows.at(row).fill(storage.host);
  }

  first(rows: number): Operand {
    if (this.#rows === null) {
      const { op, source } = this.#call;
      throw inContext(undecidedSizes(op.name, this.#what, this.#type), 'without an iteration', {
        op: op.name,
        ...(source !== undefined && { source }),
      });
    }
    return this.#rows.first(rows);
  }
}

/** An array that is written row by row, which grows where it has to. Rows that nobody writes are zero. */
export class StackedRows implements RowDestination {
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

  /** Nothing: it was written where it belongs. */
  keep(): void {}

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
