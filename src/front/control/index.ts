export { check } from './check.js';
export { cond } from './cond.js';
export { foreach, type ForeachOptions } from './foreach.js';
export { whileLoop, type WhileOptions } from './while-loop.js';
