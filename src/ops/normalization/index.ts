export * from './attention.js';
export { attentionGradient } from './attention-gradient.js';
export * from './batch-norm.js';
export * from './group-norm.js';
export * from './instance-norm.js';
export * from './l2-normalize.js';
export * from './layer-norm.js';
export * from './softmax.js';
