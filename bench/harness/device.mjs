/** The device that contestants compute on, `cpu` or `webgpu`. */
export const device = process.env.KAON_BENCH_DEVICE ?? 'cpu';

/** Gives libraries that were written for browsers the WebGPU of the package `webgpu`, as browsers have it. */
export async function installWebGpu() {
  const { create, globals } = await import('webgpu');
  const value = { gpu: create([]), userAgent: 'Node', hardwareConcurrency: 1 };
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value, configurable: true });
}
