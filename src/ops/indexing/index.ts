export type { AxisArgument, IndexMode } from './position.js';
export * from './take.js';
export * from './gather.js';
export * from './class-position.js';
export * from './one-hot.js';
export * from './sort.js';
export * from './search.js';
export * from './cumulative-extremum.js';
