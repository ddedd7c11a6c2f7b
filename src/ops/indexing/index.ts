export type { AxisArgument, IndexMode } from './position.js';
export * from './take.js';
export * from './gather.js';
export * from './classPosition.js';
export * from './oneHot.js';
export * from './sort.js';
export * from './search.js';
export * from './cumulativeExtremum.js';
