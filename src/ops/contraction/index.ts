export * from './convolution.js';
export * from './einsum.js';
export * from './matmul.js';
export * from './pooling.js';
export * from './products.js';
export * from './slidingWindows.js';
export * from './windowCounts.js';
