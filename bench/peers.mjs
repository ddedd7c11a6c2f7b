// The peers, loaded once and set to one thread. Each is null, with the reason printed, where it is missing.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

globalThis.navigator ??= {}; // jax-js looks for WebGPU there; Node 20 has none
const require = createRequire(import.meta.url);

async function loadTensorFlow() {
  const tf = require('@tensorflow/tfjs');
  const wasm = require('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  wasm.setThreadsCount(1);
  await tf.setBackend('wasm');
  await tf.ready();
  return tf;
}

async function loadJax() {
  const jax = await import('@jax-js/jax');
  await jax.init();
  jax.defaultDevice('wasm');
  return jax;
}

async function attempt(name, load) {
  try {
    return await load();
  } catch (error) {
    console.error(`${name} does not run here: ${error.message}`);
    return null;
  }
}

export const tf = await attempt('TensorFlow.js', loadTensorFlow);
export const jax = await attempt('jax-js', loadJax);
