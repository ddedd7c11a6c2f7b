// The limits of the machine, measured in the same rounds as the work that they bound.
import { ContestantProcess } from '../harness/process.mjs';
import { fileURLToPath } from 'node:url';
import { compileLimits, nativeRate } from './native.mjs';

const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** What bounds a contestant that has so many threads: as many processes at the same time. */
export const withThreads = (technology, count) =>
  `${technology}, ${count} ${count === 1 ? 'thread' : 'threads'}`;

/** Operations in a run of the peak: a fraction of a millisecond. */
const peakOperations = 2e7;

const gpuCopies = ['groups of 64', 'groups of 256', 'groups of 256, 4 each'];

/**
 * A meter measures one limit: `{ name, technology: 'wasm' | 'native' | 'webgpu', quantity: 'compute' | 'copy', form,
 * round, release }`, where `round(milliseconds)` gives GFLOP/s or GB/s.
 */
export class Limits {
  #workers = [];
  #gpu = null;
  #native = null;
  #threads;
  #relaxed = false;
  /** What compiled the native side. */
  compiler = 'none found';
  /** Why there are no limits of the GPU, where there are none. */
  missing = {};

  /**
   * Of the processor, or, for `isGpu`, of the GPU. `folder` may be written to; `threads` is for rows that say nothing,
   * `most` what any row says.
   */
  static async start(folder, { threads, isGpu }, most) {
    const limits = new Limits();
    limits.#threads = threads;
    await (isGpu ? limits.#startGpu() : limits.#startProcessor(folder, Math.max(threads, most)));
    return limits;
  }

  async #startGpu() {
    const worker = new ContestantProcess(process.execPath, [script('webgpu.mjs')]);
    try {
      const { missing } = await worker.request({ do: 'hello' });
      if (missing !== undefined) throw new Error(missing);
      this.#gpu = worker;
    } catch (error) {
      this.missing['limits of the GPU'] = error.message;
      worker.close();
    }
  }

  async #startProcessor(folder, count) {
    this.#native = compileLimits(folder);
    this.compiler = this.#native?.version ?? this.compiler;
    for (let i = 0; i < count; i++) {
      this.#workers.push(new ContestantProcess(process.execPath, [script('wasm.mjs')]));
    }
    const hellos = await Promise.all(this.#workers.map((one) => one.request({ do: 'hello' })));
    this.#relaxed = hellos[0].versions.relaxed;
  }

  /**
   * What bounds so many operations and bytes, for `wasm`, `native`, or one of them `withThreads`, and for `webgpu`;
   * nothing for other technologies.
   */
  async metersFor(work, technologies) {
    const meters = [];
    for (const label of technologies) {
      const [technology, count] = label.split(', ');
      const threads = count === undefined ? this.#threads : Number.parseInt(count);
      for (const meter of await this.#metersOn(technology, work, threads)) {
        const name = `limit of ${label}, ${meter.quantity}, ${meter.form}`;
        meters.push({ ...meter, name, technology: label });
      }
    }
    return meters;
  }

  #metersOn(technology, work, threads) {
    if (technology === 'native') return this.#nativeMeters(work, threads);
    if (technology === 'wasm') {
      const compute = this.#relaxed ? ['simd', 'relaxed'] : ['simd'];
      return workerMeters(this.#workers.slice(0, threads), work, compute, ['engine', 'simd']);
    }
    if (technology !== 'webgpu' || this.#gpu === null) return [];
    return workerMeters([this.#gpu], work, ['vectors', 'scalars'], gpuCopies);
  }

  #nativeMeters({ operations, bytes }, threads) {
    if (this.#native === null) return [];
    const meter = (quantity, words) => ({
      quantity,
      form: 'vectors',
      round: (milliseconds) => nativeRate(this.#native.program, words, milliseconds, threads),
      release: async () => {},
    });
    return [
      ...(operations ? [meter('compute', ['compute'])] : []),
      ...(bytes ? [meter('copy', ['copy', bytes])] : []),
    ];
  }

  close() {
    for (const one of this.#workers) one.close();
    this.#gpu?.close();
  }
}

/** Meters of forms that all workers offer, each on all of them at the same time. */
function workerMeters(workers, { operations, bytes }, compute, copy) {
  const kinds = [
    ...(operations ? compute.map((form) => ['compute', form]) : []),
    ...(bytes ? copy.map((form) => ['copy', form]) : []),
  ];
  return Promise.all(kinds.map(([quantity, form]) => workerMeter(workers, quantity, form, bytes)));
}

async function workerMeter(workers, quantity, form, bytes) {
  const amount = quantity === 'compute' ? peakOperations : bytes;
  const work = { kind: quantity, operations: peakOperations, bytes };
  const everywhere = (message) => Promise.all(workers.map((one, i) => one.request(message(i))));
  const ids = (await everywhere(() => ({ do: 'prepare', case: work, form }))).map(({ id }) => id);
  return {
    quantity,
    form,
    round: async (milliseconds) => {
      const rounds = await everywhere((i) => ({ do: 'round', id: ids[i], milliseconds }));
      return rounds.reduce((sum, round) => sum + amount / round.milliseconds / 1e6, 0);
    },
    release: () => everywhere((i) => ({ do: 'release', id: ids[i] })),
  };
}
