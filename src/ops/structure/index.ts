export * from './call.js';
export * from './identity.js';
export * from './shape.js';
export * from './withGradient.js';
