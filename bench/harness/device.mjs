/** The device that contestants compute on, `cpu` or `webgpu`. */
export const device = process.env.KAON_BENCH_DEVICE ?? 'cpu';

/** The GPU of this run with its driver. */
export async function adapterName() {
  const { create } = await import('webgpu');
  const gpu = create([]); // named, since Node aborts when it is collected
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw new Error('there is no adapter for WebGPU');
  const { vendor, architecture, device, description } = adapter.info;
  return [vendor, architecture, device, description].filter(Boolean).join(', ');
}

/** Gives libraries that were written for browsers the WebGPU of the package `webgpu`, as browsers have it. */
export async function installWebGpu() {
  const { create, globals } = await import('webgpu');
  const value = { gpu: create([]), userAgent: 'Node', hardwareConcurrency: 1 };
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value, configurable: true });
}
