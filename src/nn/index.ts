export { Block, HybridBlock } from './block.js';
export { GraphBlock } from './graph-block.js';
export * as initializer from './initializer.js';
export type { Initializer } from './initializer.js';
export * from './layers/index.js';
export * as loss from './loss/index.js';
export { Parameter, type ParameterOptions } from './parameter.js';
