// The limits of the machine, measured in the same rounds as the work that they bound.
import { ContestantProcess } from '../harness/process.mjs';
import { fileURLToPath } from 'node:url';
import { compileLimits, nativeRate } from './native.mjs';

const worker = fileURLToPath(new URL('wasm.mjs', import.meta.url));

/** What bounds a contestant that has so many threads: as many processes at the same time. */
export const withThreads = (technology, count) =>
  `${technology}, ${count} ${count === 1 ? 'thread' : 'threads'}`;

/** Operations in a run of the peak: a fraction of a millisecond. */
const peakOperations = 2e7;

/**
 * A meter measures one limit: `{ technology: 'wasm' | 'native', quantity: 'compute' | 'copy', form, round }`,
 * where `round(milliseconds)` gives GFLOP/s or GB/s.
 */
export class Limits {
  #workers = [];
  #native;
  #threads;
  /** What compiled the native side. */
  compiler = 'none found';
  /** Whether the engine has fused multiply-add in WebAssembly. */
  relaxed = false;

  /** `folder` may be written to; `threads` is for rows that say nothing, `most` what any row says. */
  static async start(folder, threads, most) {
    const limits = new Limits();
    limits.#threads = threads;
    limits.#native = compileLimits(folder);
    limits.compiler = limits.#native?.version ?? limits.compiler;
    for (let i = 0; i < Math.max(threads, most); i++) {
      limits.#workers.push(new ContestantProcess(process.execPath, [worker]));
    }
    const hellos = await Promise.all(limits.#workers.map((one) => one.request({ do: 'hello' })));
    limits.relaxed = hellos[0].versions.relaxed;
    return limits;
  }

  /**
   * What bounds so many operations and bytes, for `wasm`, `native`, or one of them `withThreads`; nothing for
   * `webgpu`, since the limits of a GPU are not measured.
   */
  async metersFor(work, technologies) {
    const meters = [];
    for (const label of technologies) {
      if (label === 'webgpu') continue;
      const [technology, count] = label.split(', ');
      const threads = count === undefined ? this.#threads : Number.parseInt(count);
      const found =
        technology === 'wasm'
          ? await this.#wasmMeters(work, threads)
          : this.#nativeMeters(work, threads);
      meters.push(...found.map((meter) => ({ ...meter, technology: label })));
    }
    return meters;
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

  #wasmMeters({ operations, bytes }, threads) {
    const compute = this.relaxed ? ['simd', 'relaxed'] : ['simd'];
    const kinds = [
      ...(operations ? compute.map((form) => ['compute', form]) : []),
      ...(bytes ? ['engine', 'simd'].map((form) => ['copy', form]) : []),
    ];
    return Promise.all(
      kinds.map(([quantity, form]) => this.#wasmMeter(quantity, form, bytes, threads)),
    );
  }

  async #wasmMeter(quantity, form, bytes, threads) {
    const amount = quantity === 'compute' ? peakOperations : bytes;
    const work = { kind: quantity, operations: peakOperations, bytes };
    const workers = this.#workers.slice(0, threads);
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

  close() {
    for (const one of this.#workers) one.close();
  }
}
