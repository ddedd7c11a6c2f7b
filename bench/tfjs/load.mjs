import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { device, installWebGpu } from '../harness/device.mjs';

const require = createRequire(import.meta.url);

/** TensorFlow.js on its WebAssembly backend, or on a GPU. */
export async function loadTensorFlow(threads = 1) {
  if (device === 'webgpu') await installWebGpu();
  const tf = require('@tensorflow/tfjs');
  if (device === 'webgpu') {
    const { WebGPUBackend } = require('@tensorflow/tfjs-backend-webgpu');
    await tf.setBackend('webgpu');
    if (!(tf.backend() instanceof WebGPUBackend)) throw new Error('TF.js finds no WebGPU here');
    await tf.ready();
    return tf;
  }
  const wasm = require('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  wasm.setThreadsCount(threads);
  await tf.setBackend('wasm');
  await tf.ready();
  return tf;
}
