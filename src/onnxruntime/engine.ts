export { type OnnxruntimeOptions, registerOnnxruntime } from './backend.js';
export type { OnnxRuntime, OnnxRuntimeSession, OnnxRuntimeTensor } from './runtime.js';
