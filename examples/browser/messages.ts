/** Networks that the page trains. */
export type Subject = 'digits' | 'names';

/** What the page asks its worker to train, and where. */
export interface Order {
  readonly subject: Subject;
  readonly device: 'cpu' | 'webgpu';
  readonly threads: number;
}

/** A held-out example with the network's answer. */
export interface Sample {
  /** An image of 8 by 8 pixels from 0 to 1, or a name. */
  readonly shown: Float32Array | string;
  readonly answer: string;
  readonly expected: string;
  /** Probability that the network gives its answer. */
  readonly confidence: number;
}

/** A report of the worker. */
export type Report =
  /** Losses of the steps since the last report, the first of which is number `from`. */
  | {
      readonly kind: 'losses';
      readonly from: number;
      readonly losses: readonly number[];
      /** Time that these steps took, in milliseconds. */
      readonly milliseconds: number;
      /** Memory of the device in use. */
      readonly bytes: number;
    }
  /** The state of the network after an epoch. */
  | {
      readonly kind: 'epoch';
      readonly epoch: number;
      /** Share of the held-out examples that it tells right. */
      readonly accuracy: number;
      readonly samples: readonly Sample[];
    }
  /** Everything is loaded, and the first step is about to run. */
  | { readonly kind: 'started' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly message: string };
