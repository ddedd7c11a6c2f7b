export * from './ops/index.js';
export * from './base/errors.js';
export { type DType, dtypes } from './base/dtype.js';
export type { Dim } from './base/dim.js';
export type { HostValue } from './ir/host.js';
export { dim } from './front/dimension.js';
export { sizeOf } from './front/dynamicsizes.js';
export { type ArrayData, type BackwardOptions, type GradReq, NDArray } from './front/ndarray.js';
// These stand in the place of the operators of the same names, which take symbolic sizes.
export {
  arange,
  array,
  type ArrayOptions,
  type CreationOptions,
  type CreationShape,
  eye,
  full,
  linspace,
  ones,
  zeros,
} from './front/creation.js';
export * as random from './front/random.js';
export * as autograd from './front/autograd/index.js';
export {
  type ArrayTree,
  grad,
  type Gradients,
  type GradientTree,
  valueAndGrad,
} from './front/autograd/functional.js';
export { checkpoint } from './front/autograd/checkpoint.js';
export {
  customGradient,
  type CustomContext,
  type CustomGradient,
} from './front/autograd/custom.js';
export { compute, deferredCompute, isDeferred } from './front/deferred.js';
// So do these in the place of the operators that they make.
export {
  cond,
  foreach,
  type ForeachOptions,
  whileLoop,
  type WhileOptions,
} from './front/control/index.js';
export { exportGraph, type ExportRequest } from './front/exportgraph.js';
export { config, type Config } from './front/config.js';
export { staticCode } from './front/staticcode.js';
export { staticGraph, type StaticFunction } from './front/staticfunction.js';
export type { Schedule } from './front/schedule.js';
export type { Step } from './front/step.js';
export { StaticGraph, type TypeRequest } from './front/staticgraph.js';
export { hybridize, type Hybridized } from './front/hybridize.js';
export type { HybridizeOptions } from './front/hybridizeoptions.js';
export type { Explanation, Miss, TraceReport } from './front/explain.js';
export type { TierReport } from './runtime/executable.js';
export type { Tier } from './runtime/tiers.js';
export type { Guard, GuardKind } from './front/guards.js';
export type { ArgumentAxes, DynamicAxes } from './front/dynamic.js';
export * as nn from './nn/index.js';
export * as optim from './nn/optim/index.js';
export * as data from './nn/data/index.js';
export {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  loadCheckpoint,
  saveCheckpoint,
} from './nn/checkpoint.js';
export {
  type ArrayFormat,
  type ArrayRecord,
  type FileSource,
  load,
  type LoadOptions,
  save,
  type SaveOptions,
  saveToBytes,
} from './nn/arrayfiles.js';
export type {
  LoadParametersOptions,
  LoadReport,
  MappedArray,
  ParameterMap,
} from './nn/parametermap.js';
