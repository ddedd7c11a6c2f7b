import { DeviceError } from '../../base/errors.js';
import type { WorkgroupMemory } from '../language/nodes.js';
import type { Lane } from '../language/scalar.js';

/** Invocations that have read an element since the last barrier: none, one of them, or several. */
type Readers = number | 'none' | 'several';

/**
 * Memory of a workgroup that knows who has stored and read each element since the last barrier: an element that one
 * invocation stores to, and another one reads or stores to, is an error, and so is reading where nobody has stored.
 */
export class GroupMemory {
  readonly #kernel: string;
  readonly #name: string;
  readonly #elements: (Lane | undefined)[];
  #writers: Map<number, number> = new Map();
  #readers: Map<number, Readers> = new Map();

  constructor(kernel: string, { buffer, length }: WorkgroupMemory) {
    this.#kernel = kernel;
    this.#name = buffer.name;
    this.#elements = Array.from({ length });
  }

  load(index: number, invocation: number): Lane {
    this.#refuseOutside(index);
    const writer = this.#writers.get(index) ?? invocation;
    if (writer !== invocation) this.#refuse(index, `is stored by ${writer} and read by ${invocation}`); // prettier-ignore
    const value = this.#elements[index];
    if (value === undefined) this.#refuse(index, 'is read, but nobody has stored to it');
    const readers = this.#readers.get(index) ?? 'none';
    if (readers !== invocation) this.#readers.set(index, readers === 'none' ? invocation : 'several'); // prettier-ignore
    return value;
  }

  store(index: number, value: Lane, invocation: number): void {
    this.#refuseOutside(index);
    const writer = this.#writers.get(index) ?? invocation;
    if (writer !== invocation) this.#refuse(index, `is stored by ${writer} and ${invocation}`);
    const readers = this.#readers.get(index) ?? invocation;
    if (readers !== invocation) this.#refuse(index, `is read by ${readers} and stored by ${invocation}`); // prettier-ignore
    this.#writers.set(index, invocation);
    this.#elements[index] = value;
  }

  /** From here on, everyone sees what has been stored. */
  meet(): void {
    this.#writers = new Map();
    this.#readers = new Map();
  }

  #refuseOutside(index: number): void {
    if (index >= 0 && index < this.#elements.length) return;
    throw new DeviceError(`kernel ${this.#kernel} went out of the bounds of buffer ${this.#name}`, {
      op: 'interpret',
      actual: `index ${index}`,
    });
  }

  #refuse(index: number, what: string): never {
    throw new DeviceError(`kernel ${this.#kernel} lacks a workgroup barrier`, {
      op: 'interpret',
      actual: `element ${index} of ${this.#name} ${what}`,
    });
  }
}
