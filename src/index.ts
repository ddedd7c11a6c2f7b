export * from './front/arrays/operators.js';
export {
  KaonError,
  type ErrorDetails,
  ArgumentError,
  CheckError,
  DeviceError,
  DTypeError,
  FormatError,
  GraphError,
  InternalError,
  ShapeError,
  TraceError,
  UnsupportedError,
} from './base/errors.js';
export { type DType, dtypes } from './base/dtype.js';
export type { Dim } from './base/dim/index.js';
export type { HostValue } from './ir/host.js';
export { dim } from './front/arrays/dimension.js';
export { sizeOf } from './front/dispatch/dynamic-sizes.js';
export type { GradReq } from './front/capture/gradient-use.js';
export { type BackwardOptions, NDArray } from './front/core/ndarray.js';
export type {
  ArrayData,
  ArrayInput,
  DTypeOf,
  FloatDType,
  Item,
  Promoted,
} from './front/core/result-dtypes.js';
export type { NestedList } from './front/core/display.js';
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
} from './front/arrays/creation.js';
export * as random from './front/arrays/random.js';
export * as autograd from './front/autograd/index.js';
export {
  type ArrayTree,
  grad,
  type Gradients,
  type GradientTree,
  valueAndGrad,
} from './front/transforms/functional.js';
export { checkpoint } from './front/transforms/checkpoint.js';
export {
  customGradient,
  type CustomContext,
  type CustomGradient,
} from './front/transforms/custom.js';
export { compute, deferredCompute, isDeferred } from './front/graphs/deferred.js';
export {
  check,
  cond,
  foreach,
  type ForeachOptions,
  whileLoop,
  type WhileOptions,
} from './front/control/index.js';
export { exportGraph, type ExportRequest } from './front/graphs/export-graph.js';
export { config, type Config } from './front/arrays/config.js';
export { profile, type Profile } from './front/profile/profile.js';
export type { ProfiledKernel, ProfiledOperator } from './front/profile/totals.js';
export {
  deviceInfo,
  type DeviceInfo,
  deviceTuning,
  initDevice,
  type InitDeviceOptions,
} from './front/arrays/devices.js';
export type { DeviceTuning } from './runtime/execution/device-tuning.js';
export {
  type EngineCall,
  type EngineType,
  type ExternalBackend,
  registerBackend,
} from './front/engines/register.js';
export type { EngineArray, EngineRun } from './runtime/engine/engine.js';
export { staticCode } from './front/core/static-code.js';
export { staticGraph, type StaticFunction } from './front/hybrid/static-function.js';
export type { Schedule } from './front/hybrid/schedule.js';
export type { Step } from './front/hybrid/step.js';
export { StaticGraph, type TypeRequest } from './front/graphs/static-graph.js';
export {
  explainSource,
  type SourceConstruct,
  type SourceExplanation,
} from './front/converted/explain-source.js';
export { hybridize, type Hybridized } from './front/hybrid/hybridize.js';
export type { HybridizeOptions } from './front/options/hybridize-options.js';
export type { IslandReport } from './runtime/execution/backends.js';
export type { Explanation, Miss, TraceReport } from './front/caches/explain.js';
export type { TierReport } from './runtime/execution/executable.js';
export type { Tier } from './runtime/execution/tiers.js';
export type { Guard, GuardKind } from './front/caches/guards.js';
export type { ArgumentAxes, DynamicAxes } from './front/options/dynamic.js';
export * as nn from './nn/index.js';
export * as optim from './nn/optim/index.js';
export * as data from './nn/data/index.js';
export {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  loadCheckpoint,
  saveCheckpoint,
} from './nn/training/checkpoint.js';
export {
  type ArrayFormat,
  type ArrayRecord,
  type FileSource,
  load,
  type LoadOptions,
  save,
  type SaveOptions,
  saveToBytes,
} from './nn/array-files.js';
export type {
  LoadParametersOptions,
  LoadReport,
  MappedArray,
  ParameterMap,
} from './nn/parameter-map.js';
