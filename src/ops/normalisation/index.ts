export * from './attention.js';
export * from './softmax.js';
