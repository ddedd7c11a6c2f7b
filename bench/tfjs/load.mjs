import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const require = createRequire(import.meta.url);

/** TensorFlow.js on its WebAssembly backend. */
export async function loadTensorFlow(threads = 1) {
  const tf = require('@tensorflow/tfjs');
  const wasm = require('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  wasm.setThreadsCount(threads);
  await tf.setBackend('wasm');
  await tf.ready();
  return tf;
}
