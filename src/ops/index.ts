export * from './elementwise/index.js';
export * from './reduction/index.js';
export * from './movement/index.js';
export * from './indexing/index.js';
export * from './contraction/index.js';
export * from './normalisation/index.js';
export * from './random/index.js';
export * from './structure/index.js';
