import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { checkArgument, valueRule, type ValueRule } from '../../base/attributes/options.js';
import { NDArray } from '../../front/core/ndarray.js';
import { stack, take } from '../../ops/index.js';

/** Numbered samples. */
export interface Dataset<S> {
  /** Number of samples. */
  readonly length: number;
  /** One sample, possibly asynchronous. */
  get(index: number): S | Promise<S>;
  /** Several samples as one batch, where that is cheaper than collating single ones. */
  batch?(indices: readonly number[]): S | Promise<S>;
}

/** A record or list of arrays whose first axis counts samples. */
export type ArrayRecord = NDArray | readonly NDArray[] | { readonly [name: string]: NDArray };

const isArray = (value: unknown): value is NDArray => value instanceof NDArray;

/** A loop over indices: `every` skips holes. */
const areArrays = (values: readonly unknown[]): boolean =>
  Array.from(values, isArray).every(Boolean);

const recordRule: ValueRule<ArrayRecord> = valueRule(
  'an array, a list of arrays, or an object of arrays',
  (value): value is ArrayRecord => {
    if (typeof value !== 'object' || value === null) return false;
    return isArray(value) || areArrays(Array.isArray(value) ? value : Object.values(value));
  },
);

const indicesRule: ValueRule<readonly number[]> = valueRule(
  'a list of integers',
  (value): value is readonly number[] =>
    Array.isArray(value) && Array.from(value, Number.isSafeInteger).every(Boolean),
);

/**
 * The rows of arrays as samples. A `ShapeError` for arrays of different lengths and for scalars; an
 * `ArgumentError` for values without arrays.
 */
export class ArrayDataset<R extends ArrayRecord> implements Dataset<R> {
  readonly length: number;
  readonly #arrays: R;

  constructor(arrays: R) {
    checkArgument('ArrayDataset', 'arrays', arrays, recordRule);
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
    checkArgument('ArrayDataset.batch', 'indices', indices, indicesRule);
    return mapArrays(this.#arrays, (array) => take(array, indices, { axis: 0 })) as R;
  }
}

function arraysOf(record: ArrayRecord): readonly NDArray[] {
  return isArray(record) ? [record] : Object.values(record as Record<string, NDArray>);
}

function mapArrays(record: ArrayRecord, f: (array: NDArray) => NDArray): ArrayRecord {
  if (isArray(record)) return f(record);
  if (Array.isArray(record)) return (record as readonly NDArray[]).map((array) => f(array));
  return Object.fromEntries(Object.entries(record).map(([name, array]) => [name, f(array)]));
}

/**
 * Stacks the arrays of samples along a new first axis.
 *
 * @throws ArgumentError for values that are not such samples and for samples with different names; ShapeError
 * for arrays of different shapes.
 */
export function collate<R extends ArrayRecord>(samples: readonly R[]): R {
  if (!Array.isArray(samples) || samples.length === 0) {
    throw new ArgumentError('there is no sample to stack', {
      op: 'collate',
      expected: 'a list of one sample or more',
      actual: describe(samples),
    });
  }
  const [first] = samples as readonly R[];
  const names = namesOf(first);
  Array.from(samples, (sample: unknown, at) => {
    checkArgument('collate', `sample ${at}`, sample, recordRule);
    if (isArray(sample) === isArray(first) && Array.isArray(sample) === Array.isArray(first) && namesOf(sample) === names) return; // prettier-ignore
    throw new ArgumentError(`sample ${at} has another form than the first`, {
      op: 'collate',
      expected: describe(first),
      actual: describe(sample),
    });
  });
  if (isArray(first)) return stack(samples as readonly NDArray[]) as ArrayRecord as R;
  const keys = Object.keys(first) as (keyof R & string)[];
  const stacked = keys.map((key) => stack(samples.map((sample: R) => sample[key] as NDArray)));
  const batch: ArrayRecord = Array.isArray(first)
    ? stacked
    : Object.fromEntries(keys.map((key, i) => [key, stacked[i]]));
  return batch as R;
}

/** The names of a record's arrays as one text, in sorted order. */
function namesOf(record: ArrayRecord): string {
  return isArray(record) ? '' : JSON.stringify(Object.keys(record ?? {}).sort());
}
