// The compiled library of this checkout.
export * from '../dist/src/index.js';
