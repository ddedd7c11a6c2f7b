/** Graphs as ONNX models, both ways. */
export {
  fromOnnx,
  type FromOnnxOptions,
  type ModelFacts,
  OnnxGraph,
  type OnnxInput,
  type OnnxInputs,
} from './onnx/from-onnx.js';
export { statesOf } from './onnx/state.js';
export { type Feeds, toOnnx, type ToOnnxOptions } from './onnx/to-onnx.js';
