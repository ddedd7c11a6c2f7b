// The most that WebAssembly SIMD can compute on this machine: multiply and add from registers only.

const sums = 12; // in flight at once: more than two units with a latency of four cycles can finish
const copies = 4; // of the body, so that counting iterations costs nothing

/** The kernel `sum = sum * x + y` over `n` iterations on `sums` vectors, and its operations a run. */
function peakKernel(e, scalar, lanes) {
  const data = e.buffer('data', scalar);
  const n = e.variable('n', 'i32');
  const place = (at) => e.ramp(at * lanes, 1, lanes);
  const [x, y] = ['x', 'y'].map((name) => e.variable(name, scalar, lanes));
  const locals = Array.from({ length: sums }, () => e.variable('sum', scalar, lanes));
  const step = locals.map((sum) => e.assign(sum, e.add(e.mul(sum, x), y)));
  const body = e.block(
    e.declare(x, e.load(data, place(0))),
    e.declare(y, e.load(data, place(1))),
    ...locals.map((sum, at) => e.declare(sum, e.load(data, place(2 + at)))),
    e.forLoop('i', 0, n, () => e.block(...Array.from({ length: copies }, () => step).flat())),
    ...locals.map((sum, at) => e.store(data, place(2 + at), sum)),
  );
  return { kernel: e.kernel('peak', [data, n], body), operations: 2 * lanes * sums * copies };
}

/**
 * Register-only work to hold others against: `run(operations)` multiplies and adds that often. `dist` is
 * the folder of the compiled project, `relaxed` allows fused multiply-add where the engine has it.
 */
export async function wasmPeak({
  dist = new URL('../dist/', import.meta.url),
  scalar = 'f32',
  relaxed = false,
} = {}) {
  const e = await import(new URL('src/loop/language/build.js', dist));
  const wasm = await import(new URL('src/codegen/wasm/index.js', dist));
  const lanes = scalar === 'f64' ? 2 : 4;
  const { kernel, operations } = peakKernel(e, scalar, lanes);
  const memory = new WebAssembly.Memory({ initial: 1 });
  const home = scalar === 'f64' ? Float64Array : Float32Array;
  new home(memory.buffer).fill(0.5); // converges to 1: neither zero nor denormal
  const options = { relaxed: relaxed && wasm.supportsRelaxed() };
  const { peak } = wasm.instantiateModule(e.moduleOf([kernel]), memory, options);
  return { run: (wanted) => peak(wasm.reservedBytes, Math.ceil(wanted / operations)) };
}
