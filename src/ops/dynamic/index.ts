export { countedPositions } from './positions.js';
export { nonzero, unravelIndex } from './nonzero.js';
export { booleanMask } from './booleanMask.js';
export { extents } from './extents.js';
