export * from './convolution.js';
export * from './matmul.js';
