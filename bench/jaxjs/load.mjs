import { device, installWebGpu } from '../harness/device.mjs';

/** jax-js on its WebAssembly backend, or on a GPU. */
export async function loadJax() {
  if (device === 'webgpu') await installWebGpu();
  else globalThis.navigator ??= {}; // it looks for WebGPU there; Node 20 has none
  const jax = await import('@jax-js/jax');
  await jax.init();
  jax.defaultDevice(device === 'webgpu' ? 'webgpu' : 'wasm');
  return jax;
}
