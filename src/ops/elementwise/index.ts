export * from './arithmetic.js';
