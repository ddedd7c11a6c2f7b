// The limits of the machine, measured in the same rounds as the work that they bound.
import { ContestantProcess } from '../harness/process.mjs';
import { fileURLToPath } from 'node:url';
import { compileLimits, nativeRate } from './native.mjs';

const worker = fileURLToPath(new URL('wasm.mjs', import.meta.url));

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

  /** `folder` may be written to; `dist` is the folder of the compiled library. */
  static async start(folder, threads) {
    const limits = new Limits();
    limits.#threads = threads;
    limits.#native = compileLimits(folder);
    limits.compiler = limits.#native?.version ?? limits.compiler;
    for (let i = 0; i < threads; i++) {
      limits.#workers.push(new ContestantProcess(process.execPath, [worker]));
    }
    const hellos = await Promise.all(limits.#workers.map((one) => one.request({ do: 'hello' })));
    limits.relaxed = hellos[0].versions.relaxed;
    return limits;
  }

  /** What bounds so many operations and bytes, by technology. */
  async metersFor({ operations, bytes }, technologies) {
    const meters = [];
    if (technologies.has('wasm')) {
      const compute = this.relaxed ? ['simd', 'relaxed'] : ['simd'];
      const kinds = [
        ...(operations ? compute.map((form) => ['compute', form]) : []),
        ...(bytes ? ['engine', 'simd'].map((form) => ['copy', form]) : []),
      ];
      for (const [quantity, form] of kinds) {
        meters.push(await this.#wasmMeter(quantity, form, bytes));
      }
    }
    if (technologies.has('native') && this.#native !== null) {
      const { program } = this.#native;
      const native = (quantity, words) => ({
        technology: 'native',
        quantity,
        form: 'vectors',
        round: (milliseconds) => nativeRate(program, words, milliseconds, this.#threads),
        release: async () => {},
      });
      if (operations) meters.push(native('compute', ['compute']));
      if (bytes) meters.push(native('copy', ['copy', bytes]));
    }
    return meters;
  }

  async #wasmMeter(quantity, form, bytes) {
    const amount = quantity === 'compute' ? peakOperations : bytes;
    const work = { kind: quantity, operations: peakOperations, bytes };
    const everywhere = (message) =>
      Promise.all(this.#workers.map((one, i) => one.request(message(i))));
    const ids = (await everywhere(() => ({ do: 'prepare', case: work, form }))).map(({ id }) => id);
    return {
      technology: 'wasm',
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
