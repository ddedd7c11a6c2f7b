export * from './integer.js';
export * from './normal.js';
export * from './uniform.js';
