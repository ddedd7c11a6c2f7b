import type { NDArray } from '../../front/core/ndarray.js';
import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { checkArgument } from '../../base/attributes/options.js';
import { Block, HybridBlock } from '../block.js';
import { type Activation, activationRule, Lambda } from './activation.js';

/** A block that maps one array to one array. */
export type Layer = Block & { call(x: NDArray): NDArray };

/** Runs layers in order. Functions and names of activations are accepted as layers. */
export class Sequential extends HybridBlock {
  layers: Layer[];

  constructor(...layers: readonly (Layer | Activation)[]) {
    super();
    this.layers = layers.map(layerOf);
  }

  override forward(x: NDArray): NDArray {
    return this.layers.reduce((value, layer) => layer.call(value), x);
  }
}

function layerOf(layer: Layer | Activation, index: number): Layer {
  if (layer instanceof Block) return layer;
  if (typeof layer === 'string' || typeof layer === 'function') {
    checkArgument('Sequential', `layer ${index}`, layer, activationRule);
    return new Lambda(layer);
  }
  throw new ArgumentError(`layer ${index} is not acceptable`, {
    op: 'Sequential',
    expected: 'a block, a function of one array, or the name of an operator of one array',
    actual: describe(layer),
    ...(Array.isArray(layer) && { advice: 'spread a list: new Sequential(...layers)' }),
  });
}
