/** jax-js on its WebAssembly backend. */
export async function loadJax() {
  globalThis.navigator ??= {}; // it looks for WebGPU there; Node 20 has none
  const jax = await import('@jax-js/jax');
  await jax.init();
  jax.defaultDevice('wasm');
  return jax;
}
