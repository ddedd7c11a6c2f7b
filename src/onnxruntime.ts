/** Onnxruntime as a backend: importing this registers it as `onnxruntime`. */
import { loadProtobuf } from './formats/onnx/proto/library.js';
import { registerOnnxruntime } from './onnxruntime/backend.js';

await loadProtobuf();
registerOnnxruntime();

export * from './onnxruntime/engine.js';
