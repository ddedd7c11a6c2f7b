export * from './sum.js';
export * from './extremum.js';
export * from './cumulative.js';
