export * from './cond.js';
export * from './foreach.js';
export * from './whileLoop.js';
