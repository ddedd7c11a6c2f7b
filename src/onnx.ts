/** Graphs as ONNX models, both ways. */
import { loadProtobuf } from './formats/onnx/proto/library.js';

await loadProtobuf();

export * from './onnx/models.js';
