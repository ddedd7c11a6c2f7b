export { broadcastTo, sum } from './sum.js';
export * from './extremum.js';
export { type Cumulative, type CumulativeOptions, cumsum, recurrence } from './cumulative.js';
export * from './average.js';
export * from './logic.js';
export * from './product.js';
export * from './exponential.js';
export * from './norm.js';
export * from './nan.js';
