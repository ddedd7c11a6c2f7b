export * from './call.js';
export * from './identity.js';
