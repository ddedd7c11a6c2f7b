import type { Stmt } from '../../../loop/language/nodes.js';
import type { Contraction } from '../../contraction/spec.js';
import { isThin, thinProduct } from './few.js';
import { tileFor } from './tile.js';
import { tiledProduct } from './tiled.js';

/** The workgroups of a contraction. */
export function groupedProduct(spec: Contraction): Stmt {
  return isThin(spec) ? thinProduct(spec) : tiledProduct(spec, tileFor(spec));
}
