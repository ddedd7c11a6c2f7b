export { check } from './check.js';
export * from './cond.js';
export { foreach, type ForeachOperands, type LoopSave } from './foreach.js';
export * from './while-loop.js';
