import * as kn from '../../src/index.js';
import { tokenNames } from './data.js';

/** What a layer keeps of the tokens so far: keys and values, each (batch, heads, capacity, size of a head). */
export interface Cache {
  readonly keys: kn.NDArray;
  readonly values: kn.NDArray;
}

/**
 * Self-attention that looks back, over whole sequences or token by token.
 * Source: Vaswani et al., Attention Is All You Need, NeurIPS 2017.
 */
export class CausalAttention extends kn.nn.HybridBlock {
  project: kn.nn.Dense;
  output: kn.nn.Dense;
  readonly #heads: number;
  readonly #width: number;

  constructor(size: number, heads: number) {
    super();
    this.#heads = heads;
    this.#width = size / heads;
    this.project = new kn.nn.Dense(3 * size, { inputs: size });
    this.output = new kn.nn.Dense(size, { inputs: size });
  }

  /** Queries, keys and values of (batch, time, size), each (batch, heads, time, size of a head). */
  #split(x: kn.NDArray): kn.NDArray[] {
    const parts = this.project.call(x).reshape([-1, x.shape[1], 3, this.#heads, this.#width]);
    return parts.transpose([2, 0, 3, 1, 4]).split(3).map((part) => part.squeeze(0)); // prettier-ignore
  }

  #join(mixed: kn.NDArray): kn.NDArray {
    const size = this.#heads * this.#width;
    return this.output.call(mixed.transpose([0, 2, 1, 3]).reshape([-1, mixed.shape[2], size]));
  }

  /** All tokens at once: (batch, time, size). */
  override forward(x: kn.NDArray): kn.NDArray {
    const [query, key, value] = this.#split(x);
    return this.#join(kn.attention(query, key, value, { causal: true }));
  }

  /** The token at a position, int32[], after those before it: (batch, 1, size), and the cache with its row. */
  step(x: kn.NDArray, position: kn.NDArray, cache: Cache): [kn.NDArray, Cache] {
    const [query, key, value] = this.#split(x);
    const keys = cache.keys.updateSlice(key, position, 2);
    const values = cache.values.updateSlice(value, position, 2);
    const rows = kn.arange(keys.shape[2], { dtype: 'int32' });
    const mixed = kn.attention(query, keys, values, { mask: rows.lessEqual(position) });
    return [this.#join(mixed), { keys, values }];
  }

  /** The cache before the first of some tokens (batch), however many sequences that are. */
  emptyCache(tokens: kn.NDArray, capacity: number): Cache {
    const each = kn.zerosLike(tokens, { dtype: 'float32' }).reshape([-1, 1, 1, 1]);
    const zeros = each.tile([1, this.#heads, capacity, this.#width]);
    return { keys: zeros, values: zeros };
  }
}

/** Attention and a perceptron of two layers, each behind layer norm and beside a residual. */
class Layer extends kn.nn.HybridBlock {
  attention: CausalAttention;
  perceptron: kn.nn.Sequential;
  attentionNorm: kn.nn.LayerNorm = new kn.nn.LayerNorm();
  perceptronNorm: kn.nn.LayerNorm = new kn.nn.LayerNorm();

  constructor(size: number, heads: number) {
    super();
    this.attention = new CausalAttention(size, heads);
    this.perceptron = new kn.nn.Sequential(
      new kn.nn.Dense(4 * size, { activation: 'gelu' }),
      new kn.nn.Dense(size),
    );
  }

  override forward(x: kn.NDArray): kn.NDArray {
    return this.#finish(x.add(this.attention.call(this.attentionNorm.call(x))));
  }

  step(x: kn.NDArray, position: kn.NDArray, cache: Cache): [kn.NDArray, Cache] {
    const [attended, next] = this.attention.step(this.attentionNorm.call(x), position, cache);
    return [this.#finish(x.add(attended)), next];
  }

  #finish(x: kn.NDArray): kn.NDArray {
    return x.add(this.perceptron.call(this.perceptronNorm.call(x)));
  }
}

export interface TransformerSizes {
  readonly size: number;
  readonly heads: number;
  readonly layers: number;
  /** The most tokens of a sequence. */
  readonly capacity: number;
  /** Number of different tokens. Default: those of the tasks. */
  readonly vocabulary?: number;
}

/** A decoder-only transformer: for each token, logits of the next one. */
export class Transformer extends kn.nn.HybridBlock {
  readonly capacity: number;
  embed: kn.nn.Embedding;
  positions: kn.nn.Embedding;
  layers: Layer[];
  norm: kn.nn.LayerNorm = new kn.nn.LayerNorm();
  predict: kn.nn.Dense;

  constructor(sizes: TransformerSizes) {
    super();
    const { size, heads, layers, capacity, vocabulary = tokenNames.length } = sizes;
    this.capacity = capacity;
    this.embed = new kn.nn.Embedding(vocabulary, size);
    this.predict = new kn.nn.Dense(vocabulary);
    this.positions = new kn.nn.Embedding(capacity, size);
    this.layers = Array.from({ length: layers }, () => new Layer(size, heads));
  }

  /** Whole sequences: int32 (batch, time) to (batch, time, tokens). */
  override forward(tokens: kn.NDArray): kn.NDArray {
    const positions = kn.arange(tokens.shape[1], { dtype: 'int32' });
    let x = this.embed.call(tokens).add(this.positions.call(positions));
    for (const layer of this.layers) x = layer.call(x);
    return this.predict.call(this.norm.call(x));
  }

  /** One more token of each sequence, int32 (batch), at a position, int32[]: (batch, tokens), and the caches. */
  step(tokens: kn.NDArray, position: kn.NDArray, caches: readonly Cache[]): [kn.NDArray, Cache[]] {
    let x = this.embed.call(tokens).add(this.positions.call(position)).expandDims(1);
    const next = this.layers.map((layer, i) => {
      const [y, cache] = layer.step(x, position, caches[i]);
      x = y;
      return cache;
    });
    return [this.predict.call(this.norm.call(x)).squeeze(1), next];
  }

  emptyCaches(tokens: kn.NDArray): Cache[] {
    return this.layers.map(({ attention }) => attention.emptyCache(tokens, this.capacity));
  }
}
