/** Begin and end of dispatches, in milliseconds of any clock. */
export type DispatchTimes = readonly (readonly [begin: number, end: number])[];

/**
 * Milliseconds of one of so many rounds of dispatches, from the first beginning to the last end: clocks of pages advance
 * by more than a kernel takes, and submits that are waited for begin when they are handed over.
 */
export function roundTime(times: DispatchTimes, rounds: number): number {
  return (times.at(-1)![1] - times[0][0]) / rounds;
}

/**
 * Measures the dispatches of a GPU: each in a pass of its own that writes when it has begun and ended. Where the GPU
 * tells no times, each dispatch is to be a submit, whose end is waited for.
 *
 * Workers get the class as text, so it uses nothing of this file but types.
 */
export class DispatchTiming {
  /** Flags of WebGPU: not all runtimes have the objects with their names. */
  readonly #usages = { mapRead: 1, copySource: 4, copyTarget: 8, query: 512 };
  readonly #mapRead = 1;
  readonly #device: GPUDevice;
  readonly #queries: { readonly set: GPUQuerySet; readonly resolved: GPUBuffer } | null;
  /** Times of what was submitted. */
  readonly #times: Promise<DispatchTimes>[] = [];

  /** @param mostDispatches The most dispatches of one submit. */
  constructor(device: GPUDevice, mostDispatches: number) {
    this.#device = device;
    const [type, count, label] = ['timestamp' as const, 2 * mostDispatches, 'times'];
    const usage = this.#usages.query | this.#usages.copySource;
    this.#queries = device.features.has('timestamp-query')
      ? {
          set: device.createQuerySet({ label, type, count }),
          resolved: device.createBuffer({ label, size: 8 * count, usage }),
        }
      : null;
  }

  /** True where each dispatch is to be a submit. */
  get isBySubmit(): boolean {
    return this.#queries === null;
  }

  /** The pass of one of the dispatches of a submit. */
  pass(dispatch: number, label: string): GPUComputePassDescriptor {
    if (this.#queries === null) return { label };
    const { set: querySet } = this.#queries;
    const first = 2 * dispatch;
    return {
      label,
      timestampWrites: {
        querySet,
        beginningOfPassWriteIndex: first,
        endOfPassWriteIndex: first + 1,
      },
    };
  }

  /**
   * Adds commands that fetch the times of the dispatches of a submit.
   * @returns A function to be called when they have been submitted.
   */
  fetch(commands: GPUCommandEncoder, dispatches: number): () => void {
    const read = this.#queries === null ? this.#whenDone() : this.#fetched(this.#queries, commands, dispatches); // prettier-ignore
    return () => {
      const times = read();
      times.catch(() => {}); // `end` is told
      this.#times.push(times);
    };
  }

  /** The times of all dispatches that were submitted. */
  async end(): Promise<DispatchTimes> {
    try {
      return (await Promise.all(this.#times)).flat();
    } finally {
      this.#queries?.set.destroy();
      this.#queries?.resolved.destroy();
    }
  }

  #whenDone(): () => Promise<DispatchTimes> {
    const begin = performance.now();
    return async () => {
      await this.#device.queue.onSubmittedWorkDone();
      return [[begin, performance.now()]];
    };
  }

  #fetched(
    { set, resolved }: { readonly set: GPUQuerySet; readonly resolved: GPUBuffer },
    commands: GPUCommandEncoder,
    dispatches: number,
  ): () => Promise<DispatchTimes> {
    const [size, usage] = [16 * dispatches, this.#usages.mapRead | this.#usages.copyTarget];
    const staging = this.#device.createBuffer({ label: 'times', size, usage });
    commands.resolveQuerySet(set, 0, 2 * dispatches, resolved, 0);
    commands.copyBufferToBuffer(resolved, 0, staging, 0, size);
    return async () => {
      try {
        await staging.mapAsync(this.#mapRead);
        const ticks = new BigUint64Array(staging.getMappedRange());
        const at = (k: number): number => Number(ticks[k]) / 1e6;
        return Array.from({ length: dispatches }, (_, k) => [at(2 * k), at(2 * k + 1)] as const);
      } finally {
        staging.destroy();
      }
    };
  }
}
