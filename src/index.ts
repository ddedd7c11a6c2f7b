export * from './ops/index.js';
export * from './base/errors.js';
export { type DType, dtypes } from './base/dtype.js';
export { type Dim, symbol as dim } from './base/dim.js';
export type { HostValue } from './ir/host.js';
export { type ArrayData, type BackwardOptions, type GradReq, NDArray } from './front/ndarray.js';
export {
  arange,
  array,
  type ArrayOptions,
  type CreationOptions,
  eye,
  full,
  linspace,
  ones,
  zeros,
} from './front/creation.js';
export * as autograd from './front/autograd/index.js';
