export * from './reshape.js';
export * from './transpose.js';
export * from './slice.js';
export * from './fill.js';
export * from './concat.js';
export * from './repeat.js';
export * from './turn.js';
