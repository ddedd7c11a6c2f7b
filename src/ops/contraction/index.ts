export { exchangeBins } from './adaptive-bins.js';
export {
  adaptiveAvgPool,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
  type AdaptivePool,
  type OutputSize,
} from './adaptive-pooling.js';
export * from './convolution/convolution.js';
export type { ConvOptions, ConvTransposeOptions } from './convolution/sizes.js';
export * from './convolution/ranks.js';
export * from './einstein-sum.js';
export * from './matmul.js';
export * from './pooling.js';
export * from './sliding-windows.js';
export * from './window-counts.js';
