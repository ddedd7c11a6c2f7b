// What the processor reaches in WebAssembly and through the engine; a process that speaks as contestants do.
import { serve } from '../harness/serve.mjs';
import { wasmPeak } from '../peak.mjs';
import { distFolder } from '../dist.mjs';

async function peak(relaxed, operations) {
  const { run } = await wasmPeak({ dist: distFolder, relaxed });
  return { run: () => run(operations) };
}

function engineCopy(bytes) {
  const from = new Float32Array(bytes / 8).fill(1.5);
  const to = new Float32Array(bytes / 8);
  return { run: () => to.set(from) };
}

/** Vector loads and stores in a loop of WebAssembly. */
async function simdCopy(bytes) {
  const e = await import(new URL('src/loop/language/build.js', distFolder));
  const wasm = await import(new URL('src/codegen/wasm/index.js', distFolder));
  const [from, to] = ['from', 'to'].map((name) => e.buffer(name, 'f32'));
  const n = e.variable('n', 'i32');
  const body = e.forLoop('i', 0, n, (i) =>
    e.block(...[0, 4, 8, 12].map((at) => copyLanes(e, from, to, e.add(e.mul(i, 16), at)))),
  );
  const half = Math.ceil(bytes / 2 / 64) * 64;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((2 * half + 65536) / 65536) });
  const { copy } = wasm.instantiateModule(
    e.moduleOf([e.kernel('copy', [from, to, n], body)]),
    memory,
  );
  new Float32Array(memory.buffer, wasm.reservedBytes, half / 4).fill(1.5);
  return { run: () => copy(wasm.reservedBytes, wasm.reservedBytes + half, half / 64) };
}

const copyLanes = (e, from, to, at) =>
  e.store(to, e.ramp(at, 1, 4), e.load(from, e.ramp(at, 1, 4)));

serve(async () => {
  const wasm = await import(new URL('src/codegen/wasm/index.js', distFolder));
  return {
    versions: { relaxed: wasm.supportsRelaxed() },
    kinds: {
      compute: {
        simd: (_, { operations }) => peak(false, operations),
        ...(wasm.supportsRelaxed()
          ? { relaxed: (_, { operations }) => peak(true, operations) }
          : {}),
      },
      copy: {
        engine: (_, { bytes }) => engineCopy(Math.ceil(bytes / 8) * 8),
        simd: (_, { bytes }) => simdCopy(bytes),
      },
    },
  };
});
