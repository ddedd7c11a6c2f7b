/** The part of the optional protocol buffers library that models need, and their schema. */
export { create, fromBinary, toBinary } from '@bufbuild/protobuf';
export * as schema from './onnx_pb.js';
