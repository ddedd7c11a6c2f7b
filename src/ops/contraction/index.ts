export * from './matmul.js';
