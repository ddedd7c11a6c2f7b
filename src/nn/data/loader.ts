import { FormatError } from '../../base/errors.js';
import {
  callable,
  checkArgument,
  checkOptions,
  flag,
  integerFrom,
  type OptionRules,
  valueRule,
  type ValueRule,
} from '../../base/attributes/options.js';
import { type ArrayRecord, collate, type Dataset } from './dataset.js';
import { shuffledOrder } from './shuffle.js';

/** Options of `Loader`. */
export interface LoaderOptions<S, B> {
  /** Samples in a batch; at least 1. */
  readonly batchSize: number;
  /** Shuffle in every epoch. Default false. */
  readonly shuffle?: boolean;
  /** Seed of the shuffle: a whole number of 32 bits. Default 0. */
  readonly seed?: number;
  /** Skip a last, smaller batch. Default false. */
  readonly dropLast?: boolean;
  /** Batches to prefetch. Default 1. */
  readonly prefetch?: number;
  /** Joins samples. Default: stacks arrays, in lists and records too. */
  readonly collate?: (samples: readonly S[]) => B;
  /** Ends iteration with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called after every batch that is handed out. */
  readonly progress?: (position: LoaderProgress) => void;
}

/** Progress of a loader. */
export interface LoaderProgress {
  /** Counted from 0. */
  readonly epoch: number;
  /** Batches handed out in this epoch, and batches in an epoch. */
  readonly batch: number;
  readonly batches: number;
}

/** Position of a loader: the epoch, and the batches of it that were handed out. */
export interface LoaderState {
  readonly seed: number;
  readonly epoch: number;
  readonly batch: number;
}

/** A 32-bit seed: two that wrap to the same 32 bits would give the same order. */
export const seedRule: ValueRule<number> = valueRule(
  'a whole number from -2^31 to 2^32 - 1',
  (value): value is number =>
    Number.isInteger(value) && (value as number) >= -(2 ** 31) && (value as number) < 2 ** 32,
);

const stateRules: OptionRules<LoaderState> = {
  seed: seedRule,
  epoch: integerFrom(0),
  batch: integerFrom(0),
};

/** An `AbortSignal`, duck-typed: some environments lack the class, others have several. */
export const signalRule: ValueRule<AbortSignal> = valueRule(
  'an AbortSignal',
  (value): value is AbortSignal =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as AbortSignal).throwIfAborted === 'function',
);

const rules: OptionRules<LoaderOptions<unknown, unknown>> = {
  batchSize: integerFrom(1),
  shuffle: flag,
  seed: seedRule,
  dropLast: flag,
  prefetch: integerFrom(0),
  collate: callable,
  signal: signalRule,
  progress: callable,
};

const datasetRule = valueRule(
  'an object with length and get',
  (value): value is Dataset<unknown> =>
    typeof value === 'object' &&
    value !== null &&
    integerFrom(0).accepts((value as Dataset<unknown>).length) &&
    typeof (value as Dataset<unknown>).get === 'function',
);

/** Batches of a dataset: each `for await` iterates over the rest of one epoch. */
export class Loader<S, B = S> implements AsyncIterable<B> {
  readonly #dataset: Dataset<S>;
  readonly #options: LoaderOptions<S, B>;
  #seed: number;
  #epoch = 0;
  #batch = 0;

  constructor(dataset: Dataset<S>, options: LoaderOptions<S, B>) {
    checkArgument('Loader', 'dataset', dataset, datasetRule);
    checkOptions('Loader', options, rules);
    checkArgument('Loader', 'batchSize', options.batchSize, rules.batchSize);
    this.#dataset = dataset;
    this.#options = options;
    this.#seed = options.seed ?? 0;
  }

  /** Batches in an epoch. */
  get length(): number {
    const batches = this.#dataset.length / this.#options.batchSize;
    return this.#options.dropLast === true ? Math.floor(batches) : Math.ceil(batches);
  }

  /** The loader's position; prefetched batches do not count. */
  state(): LoaderState {
    return { seed: this.#seed, epoch: this.#epoch, batch: this.#batch };
  }

  /** Restores the position of another loader over the same dataset. */
  loadState(state: LoaderState): void {
    const op = 'Loader.loadState';
    checkOptions(op, state, stateRules);
    const { seed, epoch, batch } = state;
    for (const [name, accepted] of Object.entries(stateRules)) {
      checkArgument(op, name, state[name as keyof LoaderState], accepted);
    }
    if (batch > this.length) {
      throw new FormatError('this is not a position of this loader', {
        op,
        expected: `a batch up to ${this.length}`,
        actual: `batch ${batch}`,
      });
    }
    this.#seed = seed;
    this.#epoch = epoch;
    this.#batch = batch;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<B> {
    const { prefetch = 1, signal, progress } = this.#options;
    const epoch = this.#epoch;
    const batches = this.length;
    const order = this.#order(epoch);
    const ahead: Promise<B>[] = [];
    let next = this.#batch;
    while (this.#batch < batches) {
      signal?.throwIfAborted();
      while (next < batches && ahead.length <= prefetch) {
        const pending = this.#fetch(order, next++);
        pending.catch(() => undefined); // reported when its turn comes; until then it is not unhandled
        ahead.push(pending);
      }
      const batch = await untilAborted(ahead.shift()!, signal);
      signal?.throwIfAborted();
      this.#batch++;
      progress?.({ epoch, batch: this.#batch, batches });
      if (this.#batch === batches) this.#finishEpoch();
      yield batch;
      if (this.#epoch !== epoch) return;
    }
    this.#finishEpoch();
  }

  #finishEpoch(): void {
    this.#epoch++;
    this.#batch = 0;
  }

  #order(epoch: number): Uint32Array {
    const { length } = this.#dataset;
    if (this.#options.shuffle === true) return shuffledOrder(length, this.#seed, epoch);
    return Uint32Array.from({ length }, (_, i) => i);
  }

  async #fetch(order: Uint32Array, batch: number): Promise<B> {
    const { batchSize, collate: join } = this.#options;
    const indices = [...order.subarray(batch * batchSize, (batch + 1) * batchSize)];
    if (join === undefined && this.#dataset.batch !== undefined) {
      return (await this.#dataset.batch(indices)) as unknown as B;
    }
    const samples = await Promise.all(indices.map((index) => this.#dataset.get(index)));
    return join === undefined
      ? (collate(samples as unknown as ArrayRecord[]) as unknown as B)
      : join(samples);
  }
}

/** A batch, or the signal's reason as soon as it is given: a sample may take long. */
async function untilAborted<B>(batch: Promise<B>, signal: AbortSignal | undefined): Promise<B> {
  if (signal === undefined) return batch;
  let stop!: () => void;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([batch, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
