import * as e from '../../../loop/language/build.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { known, withConstants } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import type { KernelCall } from '../choices.js';
import { chosenForProduct } from './choice.js';
import { isThin, thinProduct } from './few.js';
import { tilesFor } from './tile.js';
import { tiledProduct } from './tiled.js';

/** Terms of a sum below which one invocation adds them up as fast as several that have to meet. */
const fewTerms = 32;

/**
 * The workgroups of a contraction, that of a call; null where an invocation for each result is as good, or where sums
 * have 64 bits, which are no vectors of shaders.
 */
export function groupedProduct(given: Contraction, call: KernelCall): Stmt | null {
  const [batch, m, n, k] = [given.batch, given.m, given.n, given.k].map(withConstants);
  const spec = { ...given, batch, m, n, k };
  if (e.scalarBytes(spec.scalar) === 8) return null;
  if (isThin(spec)) return (known(spec.k) ?? Infinity) < fewTerms ? null : thinProduct(spec, call);
  const candidates = tilesFor(spec);
  return tiledProduct(spec, chosenForProduct(spec, call, 'tile', candidates));
}
