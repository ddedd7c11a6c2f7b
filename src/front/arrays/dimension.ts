import { type Bounds, type Dim, symbol } from '../../base/dim/index.js';
import { checkOptionNames } from '../../base/attributes/options.js';

/**
 * A named dimension of 0 to any number of elements, or as `bounds` say, which include both ends: a size that
 * captured code leaves open. The same name in one program means the same size.
 *
 * @throws ArgumentError for what is no identifier, and for bounds that are no range of sizes.
 */
export function dim(name: string, bounds: Partial<Bounds> = {}): Exclude<Dim, number> {
  checkOptionNames('dim', bounds, ['min', 'max']);
  return symbol(name, bounds);
}
