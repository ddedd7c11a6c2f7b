export { boundsOf } from './dim/bounds.js';
export {
  type Bounds,
  type Dim,
  DimExpr,
  type DimOperation,
  isStatic,
  sameDim,
  sameShape,
} from './dim/expression.js';
export { type DimBindings, evaluateDim, fold } from './dim/fold.js';
export {
  applyDim,
  ceilDivDim,
  floorDivDim,
  isMultipleOf,
  maxDim,
  minDim,
  minimumOf,
  modDim,
} from './dim/operations.js';
export { addDim, mulDim, sizeOf, subDim } from './dim/polynomial.js';
export { substituteDim, symbol, symbolsOf, symbolTable } from './dim/symbol.js';
export { parseDim } from './dim/text.js';
