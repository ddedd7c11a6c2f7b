export {
  fromOnnx,
  type FromOnnxOptions,
  type ModelFacts,
  OnnxGraph,
  type OnnxInput,
  type OnnxInputs,
} from './from-onnx.js';
export { statesOf } from './state.js';
export { type Feeds, toOnnx, type ToOnnxOptions } from './to-onnx.js';
