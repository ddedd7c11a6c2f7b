import type { Expr, Scalar } from '../../loop/language/nodes.js';
import { isWithin } from './sizes.js';

/** Number of terms that are summed in one register. */
export const shortTerms = 1024;

/**
 * True when sums over `k` may be long: floats, with more terms than one register sums accurately, or an
 * unknown number.
 */
export function isLong({ k, scalar }: { readonly k: Expr; readonly scalar: Scalar }): boolean {
  return (scalar === 'f32' || scalar === 'f64') && !isWithin(k, shortTerms);
}
