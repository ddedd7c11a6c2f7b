import { type Bounds, type Dim, symbol } from '../../base/dim/index.js';
import { checkOptionNames } from '../../base/attributes/options.js';

/**
 * A named dimension with inclusive bounds, by default 0 or more elements: a symbolic size of captured code.
 * The same name in one program means the same size.
 *
 * @throws ArgumentError for a name that is not an identifier, and for bounds that are not a range of sizes.
 */
export function dim(name: string, bounds: Partial<Bounds> = {}): Exclude<Dim, number> {
  checkOptionNames('dim', bounds, ['min', 'max']);
  return symbol(name, bounds);
}
