export * from './sum.js';
export * from './extremum.js';
