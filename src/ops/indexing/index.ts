export * from './position.js';
export * from './take.js';
export * from './gather.js';
export * from './oneHot.js';
export * from './sort.js';
export * from './searchsorted.js';
export * from './cumulativeExtremum.js';
