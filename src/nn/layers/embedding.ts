import { checkOptions, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { take } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { type Initializer, normal } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { checkInput } from '../input.js';
import { checkSize, initializer } from './options.js';

/** Options of `Embedding`. */
export interface EmbeddingOptions {
  /** Default normal numbers of variance 1. */
  readonly weightInit?: Initializer;
}

const rules: OptionRules<EmbeddingOptions> = { weightInit: initializer };

/** A learned vector for each of `count` symbols: integer (...) to (..., size). */
export class Embedding extends HybridBlock {
  /** (count, size). */
  weight: Parameter;

  constructor(count: number, size: number, options: EmbeddingOptions = {}) {
    super();
    checkSize('Embedding', 'count', count);
    checkSize('Embedding', 'size', size);
    checkOptions('Embedding', options, rules);
    this.weight = new Parameter({ shape: [count, size], init: options.weightInit ?? normal(1) });
  }

  override forward(indices: NDArray): NDArray {
    checkInput(this, 'indices', indices);
    return take(this.weight.value, indices, { axis: 0 });
  }
}
