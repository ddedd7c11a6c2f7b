export { countedPositions } from './positions.js';
export { nonzero, unravelIndex } from './nonzero.js';
export { booleanMask } from './booleanMask.js';
export { extents } from './extents.js';
export { argsortRows, runStarts } from './sortedRows.js';
export { unique, type UniqueOptions, type UniqueResult } from './unique.js';
export { keptBoxes, nonMaxSuppression, type SuppressionOptions } from './nonMaxSuppression.js';
export { dynamicSlice, updateSlice } from './dynamicSlice.js';
export { completedSizes } from './completedSizes.js';
