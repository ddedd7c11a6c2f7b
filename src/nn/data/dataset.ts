import { ArgumentError, ShapeError } from '../../base/errors.js';
import type { NDArray } from '../../front/ndarray.js';
import { stack, take } from '../../ops/index.js';

/** Numbered samples. */
export interface Dataset<S> {
  /** How many samples there are. */
  readonly length: number;
  /** One sample; may be asynchronous. */
  get(index: number): S | Promise<S>;
  /** Several samples as one batch, where that is cheaper than collating single ones. */
  batch?(indices: readonly number[]): S | Promise<S>;
}

/** A record or list of arrays whose first axis counts samples. */
export type ArrayRecord = NDArray | readonly NDArray[] | { readonly [name: string]: NDArray };

/** The dataset of the rows of arrays. A `ShapeError` for arrays of different lengths, and for scalars. */
export class ArrayDataset<R extends ArrayRecord> implements Dataset<R> {
  readonly length: number;
  readonly #arrays: R;

  constructor(arrays: R) {
    const lengths = new Set(
      arraysOf(arrays).map((array) => (array.ndim === 0 ? -1 : array.shape[0])),
    );
    if (lengths.size !== 1 || lengths.has(-1)) {
      throw new ShapeError('the arrays of a dataset need one common first extent', {
        op: 'ArrayDataset',
        expected: 'arrays of rank 1 or more, as long as each other',
        actual:
          arraysOf(arrays)
            .map(({ shape }) => `[${shape.join(', ')}]`)
            .join(' and ') || 'no arrays',
      });
    }
    this.#arrays = arrays;
    [this.length] = lengths;
  }

  get(index: number): R {
    return mapArrays(this.#arrays, (array) => array.slice(index)) as R;
  }

  batch(indices: readonly number[]): R {
    return mapArrays(this.#arrays, (array) => take(array, [...indices], { axis: 0 })) as R;
  }
}

function arraysOf(record: ArrayRecord): readonly NDArray[] {
  return isArray(record) ? [record] : Object.values(record as Record<string, NDArray>);
}

function isArray(record: ArrayRecord): record is NDArray {
  return 'dtype' in record && 'shape' in record;
}

function mapArrays(record: ArrayRecord, f: (array: NDArray) => NDArray): ArrayRecord {
  if (isArray(record)) return f(record);
  if (Array.isArray(record)) return (record as readonly NDArray[]).map(f);
  return Object.fromEntries(Object.entries(record).map(([name, array]) => [name, f(array)]));
}

/** Samples of arrays stacked along a new first axis. */
export function collate<R extends ArrayRecord>(samples: readonly R[]): R {
  const [first] = samples;
  if (first === undefined) {
    throw new ArgumentError('there is no sample to stack', {
      op: 'collate',
      expected: 'one sample or more',
      actual: 'none',
    });
  }
  if (isArray(first)) return stack(samples as unknown as NDArray[]) as unknown as R;
  const keys = Object.keys(first) as (keyof R & string)[];
  const stacked = keys.map((key) =>
    stack(samples.map((sample) => sample[key] as unknown as NDArray)),
  );
  const batch = Array.isArray(first)
    ? stacked
    : Object.fromEntries(keys.map((key, i) => [key, stacked[i]]));
  return batch as unknown as R;
}
