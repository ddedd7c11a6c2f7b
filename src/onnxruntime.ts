/** Onnxruntime as a backend: importing this registers it as `onnxruntime`. */
import { registerOnnxruntime } from './onnxruntime/backend.js';

registerOnnxruntime();

export { type OnnxruntimeOptions, registerOnnxruntime } from './onnxruntime/backend.js';
export type { OnnxRuntime, OnnxRuntimeSession, OnnxRuntimeTensor } from './onnxruntime/runtime.js';
