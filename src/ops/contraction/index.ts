export * from './convolution.js';
export * from './einsteinSum.js';
export * from './matmul.js';
export * from './pooling.js';
export * from './slidingWindows.js';
export * from './windowCounts.js';
