export * from './call.js';
export * from './copy.js';
export * from './identity.js';
export * from './shape.js';
export * from './shard.js';
export * from './with-gradient.js';
