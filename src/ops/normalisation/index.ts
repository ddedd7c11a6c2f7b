export * from './attention.js';
export { attentionGradient } from './attentionGradient.js';
export * from './batchNorm.js';
export * from './groupNorm.js';
export * from './l2Normalize.js';
export * from './layerNorm.js';
export * from './softmax.js';
