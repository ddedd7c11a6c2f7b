import { type Bounds, evaluateDim, elementCount } from '../../base/dim/index.js';
import { bytesOf } from '../../base/dtype.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { TensorType } from '../../ir/types.js';

/** Nominal size of a dimension without an upper bound. */
const unbounded = 64;

/**
 * Bytes, for heuristics only; exact where all extents are static. A bounded dimension counts as its upper
 * bound, any other as 64 or its lower bound.
 */
export function nominalBytes(type: TensorType): number {
  const sizes = new Map<string, number>();
  for (const [name, bounds] of symbolsOfTypes([type])) sizes.set(name, nominalExtent(bounds));
  return bytesOf(type.dtype) * evaluateDim(elementCount(type.shape), sizes);
}

function nominalExtent({ min, max }: Bounds): number {
  return Number.isFinite(max) ? max : Math.max(min, unbounded);
}
