import { type Bounds, evaluateDim, sizeOf } from '../../base/dim/index.js';
import { bytesOf } from '../../base/dtype.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { TensorType } from '../../ir/types.js';

/** What a dimension without an upper bound counts as, where a number is needed. */
const unbounded = 64;

/**
 * Bytes, for decisions only; exact where all extents are numbers. A bounded dimension counts as its
 * greatest size, any other one as 64 or its least size.
 */
export function nominalBytes(type: TensorType): number {
  const sizes = new Map<string, number>();
  for (const [name, bounds] of symbolsOfTypes([type])) sizes.set(name, nominalExtent(bounds));
  return bytesOf(type.dtype) * evaluateDim(sizeOf(type.shape), sizes);
}

function nominalExtent({ min, max }: Bounds): number {
  return Number.isFinite(max) ? max : Math.max(min, unbounded);
}
