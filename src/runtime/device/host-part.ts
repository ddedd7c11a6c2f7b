import { bytesOf, type HostArray } from '../../base/dtype.js';
import type { IslandReport } from '../execution/backends.js';
import type { Executable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { RunArray } from './arrays.js';
import type { DeviceQueue } from './queue.js';
import type { Waiting } from './queue/waiting.js';
import type { RunOperand } from './routine.js';

/** Elements of an operand on the host, which are not to be written to. */
export function* hostElements({ array, from, length }: RunOperand): Waiting<HostArray> {
  const elements = yield* array.elements();
  return length === elements.length ? elements : elements.subarray(from, from + length);
}

/** The type of an operand. */
export function typeOf({
  array,
  shape,
}: RunOperand): Pick<Operand, 'shape'> & { dtype: RunArray['dtype'] } {
  return { dtype: array.dtype, shape };
}

/** Code of a part that the CPU runs. */
export class HostPartCode {
  readonly #executable: Executable;
  readonly #queue: DeviceQueue;
  readonly #report: (bytes: number | null) => IslandReport | null;
  /** Bytes that the last run copied. */
  #moved: number | null = null;

  constructor(
    executable: Executable,
    queue: DeviceQueue,
    report: (bytes: number | null) => IslandReport | null,
  ) {
    this.#executable = executable;
    this.#queue = queue;
    this.#report = report;
  }

  get island(): IslandReport | null {
    return this.#report(this.#moved);
  }

  *run(operands: readonly RunOperand[], sizes: readonly number[]): Waiting<readonly RunArray[]> {
    const given: Operand[] = [];
    let moved = 0;
    for (const operand of operands) {
      const { array, shape } = operand;
      if (!array.isHostKnown) moved += bytesOf(array.dtype) * array.length;
      given.push({ storage: new Storage(array.dtype, yield* hostElements(operand)), shape });
    }
    // With targets, although there are none, it runs here: without operands it would run where new arrays live.
    const results = this.#executable.run(given, [], sizes).map(({ storage }) => {
      if (this.#queue.has(storage.dtype)) moved += bytesOf(storage.dtype) * storage.length;
      // Its own: an operand that is a result, too, must not be shared.
      return RunArray.ofHost(this.#queue, storage.dtype, storage.copy());
    });
    this.#moved = moved;
    return results;
  }

  release(): void {
    this.#executable.release();
  }
}
