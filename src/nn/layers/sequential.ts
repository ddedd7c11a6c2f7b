import { checkArgument, rule } from '../../base/options.js';
import type { NDArray } from '../../front/ndarray.js';
import { type Block, HybridBlock } from '../block.js';
import { type Activation, Lambda } from './activation.js';

/** Anything that maps one array to one. */
export type Layer = Block & { call(x: NDArray): NDArray };

const anyLayer = rule(
  'a block, a function of an array, or the name of an activation',
  (value): value is Layer | Activation =>
    value instanceof HybridBlock ||
    typeof value === 'string' ||
    typeof (value as Layer | undefined)?.call === 'function',
);

/** Runs layers one after the other; a function or an activation's name stands for itself. */
export class Sequential extends HybridBlock {
  layers: Layer[];

  constructor(...layers: readonly (Layer | Activation)[]) {
    super();
    for (const layer of layers) checkArgument('Sequential', 'layer', layer, anyLayer);
    this.layers = layers.map((layer) =>
      typeof layer === 'string' || typeof layer === 'function' ? new Lambda(layer) : layer,
    );
  }

  override forward(x: NDArray): NDArray {
    return this.layers.reduce((value, layer) => layer.call(value), x);
  }
}
