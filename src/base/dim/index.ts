export { boundsOf } from './bounds.js';
export { broadcastDim } from './broadcast.js';
export {
  type Bounds,
  type Dim,
  DimExpr,
  type DimOperation,
  fromAtom,
  isStatic,
  sameDim,
  sameShape,
} from './expression.js';
export { type DimBindings, evaluateDim, fold } from './fold.js';
export {
  applyDim,
  ceilDivDim,
  floorDivDim,
  isMultipleOf,
  maxDim,
  minDim,
  minimumOf,
  modDim,
} from './operations.js';
export { addDim, mulDim, elementCount, subDim } from './polynomial.js';
export { substituteDim, symbol, symbolsOf, symbolTable } from './symbol.js';
export { parseDim } from './text.js';
