import type { Results } from './compare.js';
import type { Arrays } from './shipped.js';

/** The elements of arrays as they lie in memory. */
export function elementsOf(arrays: Arrays): Results {
  return Object.fromEntries(
    Object.entries(arrays).map(([name, array]) => [
      name,
      { dtype: array.dtype, shape: array.shape, data: array.dataSync() },
    ]),
  );
}
