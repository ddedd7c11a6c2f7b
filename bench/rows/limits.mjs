import { wasmPeak } from '../peak.mjs';

/** Bytes of the arrays that are copied: far beyond any cache. */
const copied = 64 * 1024 * 1024;

const figure = (value) => ({ median: value, best: value });

export const rows = [
  {
    title: 'limit wasm peak',
    build: async () => {
      const operations = 1e8;
      const { run } = await wasmPeak();
      return {
        name: 'limit: multiply and add in wasm SIMD registers',
        unit: 'GFLOP/s',
        scale: (ms) => operations / ms / 1e6,
        contestants: { machine: { run: () => run(operations) } },
      };
    },
  },
  {
    title: 'limit copy bandwidth',
    build: async () => {
      const from = new Float32Array(copied / 4).fill(1.5);
      const to = new Float32Array(copied / 4);
      let best = Infinity;
      for (let round = 0; round < 12; round++) {
        const start = performance.now();
        to.set(from);
        best = Math.min(best, performance.now() - start);
      }
      return {
        name: 'limit: copying, bytes read and written',
        unit: 'GB/s',
        figures: { machine: figure((2 * copied) / best / 1e6) },
      };
    },
  },
];
