export { expandDims, flatten, reshape, squeeze } from './reshape.js';
export { moveaxis, swapaxes, transpose } from './transpose.js';
export * from './slice.js';
export {
  dimLike,
  eye,
  type EyeOptions,
  fill,
  fullLike,
  iota,
  type LikeOptions,
  onesLike,
  type ProgressionOptions,
  zerosLike,
} from './fill.js';
export * from './concat.js';
export * from './repeat.js';
export * from './turn.js';
export * from './triangle.js';
export * from './diagonal.js';
export * from './pad.js';
export * from './shift.js';
export * from './meshgrid.js';
