import type { Dim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import {
  checkArgument,
  checkOptions,
  flag,
  type OptionRules,
} from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { attention } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { type Activation, activationFunction } from './activation.js';
import { activation, checkSize, count } from './options.js';
import { Dense } from './dense.js';
import { Dropout, dropoutRate } from './dropout.js';
import { LayerNorm } from './normalization.js';
import { checkInput } from '../input.js';

export interface AttentionOptions {
  /** True where a query (row) may attend to a key (column); broadcasts to (batch, heads, queries, keys). */
  readonly mask?: NDArray;
  /** Each position attends only to itself and earlier ones. Default false. */
  readonly causal?: boolean;
}

/** Options of the projections of `MultiHeadAttention`. */
export interface MultiHeadOptions {
  /** Default true. */
  readonly useBias?: boolean;
}

const headRules: OptionRules<MultiHeadOptions> = { useBias: flag };

/**
 * Scaled dot-product attention by several heads over (batch, time, size).
 * Source: Vaswani et al., NeurIPS 2017.
 */
export class MultiHeadAttention extends HybridBlock {
  query: Dense;
  key: Dense;
  value: Dense;
  output: Dense;
  readonly #size: number;
  readonly #heads: number;

  constructor(size: number, heads: number, options: MultiHeadOptions = {}) {
    super();
    checkHeads('MultiHeadAttention', size, heads);
    checkOptions('MultiHeadAttention', options, headRules);
    this.#size = size;
    this.#heads = heads;
    const project = (): Dense => new Dense(size, { useBias: options.useBias ?? true });
    this.query = project();
    this.key = project();
    this.value = project();
    this.output = project();
  }

  /** Attention of `query` over `key` and `value`; both default to the query: self-attention. */
  override forward(
    query: NDArray,
    key: NDArray = query,
    value: NDArray = key,
    options: AttentionOptions = {},
  ): NDArray {
    const split = (x: NDArray): NDArray =>
      x.reshape([...rowsOf(x), this.#heads, this.#size / this.#heads]).transpose([0, 2, 1, 3]);
    const mixed = attention(
      split(this.query.call(query)),
      split(this.key.call(key)),
      split(this.value.call(value)),
      options,
    );
    return this.output.call(mixed.transpose([0, 2, 1, 3]).reshape([...rowsOf(query), this.#size]));
  }
}

/** Refuses sizes that the number of heads does not divide. */
function checkHeads(op: string, size: number, heads: number): void {
  checkSize(op, 'size', size);
  checkArgument(op, 'heads', heads, count);
  if (size % heads === 0) return;
  throw new ArgumentError('the size must divide evenly among the heads', {
    op,
    expected: `a multiple of ${heads}`,
    actual: String(size),
  });
}

/** The extents of batch and time. */
function rowsOf(x: NDArray): readonly Dim[] {
  return extentsOf(x).slice(0, 2);
}

export interface TransformerOptions {
  /** Units of the inner layer. Default 4 times the size. */
  readonly hidden?: number;
  /** Default 0.1. */
  readonly dropout?: number;
  /** Default gelu. */
  readonly activation?: Activation;
}

const encoderRules: OptionRules<TransformerOptions> = {
  hidden: count,
  dropout: dropoutRate,
  activation,
};

/** Self-attention and a two-layer perceptron, each after layer norm and with a residual (pre-norm form). */
export class TransformerEncoderLayer extends HybridBlock {
  attention: MultiHeadAttention;
  inner: Dense;
  outer: Dense;
  attentionNorm: LayerNorm = new LayerNorm();
  innerNorm: LayerNorm = new LayerNorm();
  dropout: Dropout;
  readonly #activation: (x: NDArray) => NDArray;

  constructor(size: number, heads: number, options: TransformerOptions = {}) {
    super();
    checkHeads('TransformerEncoderLayer', size, heads);
    checkOptions('TransformerEncoderLayer', options, encoderRules);
    this.attention = new MultiHeadAttention(size, heads);
    this.inner = new Dense(options.hidden ?? 4 * size);
    this.outer = new Dense(size);
    this.dropout = new Dropout(options.dropout ?? 0.1);
    this.#activation = activationFunction(options.activation) ?? ((x) => x.gelu());
  }

  override forward(x: NDArray, options: AttentionOptions = {}): NDArray {
    checkInput(this, 'x', x);
    const normed = this.attentionNorm.call(x);
    const attended = x.add(this.dropout.call(this.attention.call(normed, normed, normed, options)));
    const inner = this.#activation(this.inner.call(this.innerNorm.call(attended)));
    return attended.add(this.dropout.call(this.outer.call(inner)));
  }
}
