export * from './reshape.js';
export * from './transpose.js';
