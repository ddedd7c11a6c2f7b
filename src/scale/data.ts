import { describe } from '../base/attributes/attribute.js';
import {
  checkOptions,
  type OptionRules,
  oneOfValues,
  textRule,
  valueRule,
} from '../base/attributes/options.js';
import { bytesOf } from '../base/dtype.js';
import { ArgumentError, DTypeError, inContext, ShapeError } from '../base/errors.js';
import { encodeSafetensors } from '../formats/safetensors.js';
import { NDArray } from '../front/core/ndarray.js';
import { ArrayDataset, collate, type Dataset } from '../nn/data/dataset.js';
import type { ArrayRecord } from '../nn/array-files.js';
import { toFileTensor } from '../nn/persistence.js';
import type { StableHloInput } from '../stablehlo/to-stablehlo.js';
import type { JobFiles, StoredData } from './job.js';

const op = 'writeJob';

/** Examples by input: arrays whose first axis counts them, a dataset of such records, or files. */
export type JobData = ArrayRecord | Dataset<ArrayRecord> | JobFiles;

/** Inputs of a program, and the axis of each along which the examples of a batch lie. */
export interface Feeding {
  /** Name of the option, for messages. */
  readonly what: string;
  readonly inputs: readonly StableHloInput<number>[];
  readonly axes: Readonly<Record<string, number>>;
  readonly batch: number;
}

/** Data as `job.json` has them, and the contents of files to write. */
export interface PreparedData {
  readonly stored: StoredData;
  /** Files by name, made when it is their turn; null where the data lie elsewhere. */
  readonly contents: AsyncIterable<readonly [name: string, bytes: Uint8Array]> | null;
}

/** Bytes of a file of examples, about: larger data are divided. */
const bytesOfFile = 2 ** 27;

/**
 * Checks data against the inputs that they feed.
 * @throws ArgumentError, ShapeError or DTypeError for data that do not fit.
 */
export function prepareData(data: unknown, folder: string, feeding: Feeding): PreparedData {
  if (isFiles(data)) return { stored: storedFiles(data, feeding), contents: null };
  if (isDataset(data)) return storedExamples(data, folder, feeding);
  if (typeof data === 'object' && data !== null && !(data instanceof NDArray)) {
    const fed = Object.fromEntries(namesIn(data as ArrayRecord, feeding));
    return storedExamples(datasetOf(fed, feeding.what), folder, feeding);
  }
  throw new ArgumentError(`${feeding.what} is not acceptable`, {
    op,
    expected: 'arrays by input, a dataset of such records, or { kind, files }',
    actual: describe(data),
  });
}

function datasetOf(arrays: ArrayRecord, what: string): ArrayDataset<ArrayRecord> {
  try {
    return new ArrayDataset(arrays);
  } catch (error) {
    throw inContext(error, what, { op });
  }
}

function isFiles(data: unknown): data is JobFiles {
  return typeof data === 'object' && data !== null && typeof (data as JobFiles).kind === 'string';
}

function isDataset(data: unknown): data is Dataset<ArrayRecord> {
  const { get, length } = (data ?? {}) as Partial<Dataset<ArrayRecord>>;
  return typeof get === 'function' && typeof length === 'number';
}

const texts = valueRule(
  'a list of paths or patterns',
  (value): value is readonly string[] =>
    Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string'),
);

const fileRules: OptionRules<JobFiles> = {
  kind: oneOfValues('safetensors', 'npz', 'parquet', 'module'),
  files: texts,
  module: textRule,
  feeds: valueRule(
    'names of columns by input',
    (value): value is Readonly<Record<string, string>> =>
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((each) => typeof each === 'string'),
  ),
};

function storedFiles(data: JobFiles, { what, inputs }: Feeding): StoredData {
  checkOptions<JobFiles>(op, data, fileRules);
  const { kind, files, module } = data;
  const needed = kind === 'module' ? module : files;
  if (needed === undefined || (kind === 'module' && !/^[\w.]+:\w+$/.test(module!))) {
    throw new ArgumentError(`${what} of the kind ${kind} needs ${kind === 'module' ? 'a module' : 'files'}`, {
      op,
      expected: kind === 'module' ? `module: 'name:function'` : `files: ['shards/*.${kind}']`,
      actual: describe(needed),
    }); // prettier-ignore
  }
  const feeds = data.feeds ?? {};
  for (const name of Object.keys(feeds)) {
    if (!inputs.some((input) => input.name === name)) throw unknownInput(what, name, inputs);
  }
  const columns = inputs.map(({ name }) => [name, Object.hasOwn(feeds, name) ? feeds[name] : name]);
  return {
    kind,
    files: files ?? [],
    ...(module !== undefined && { module }),
    feeds: Object.fromEntries(columns) as Record<string, string>,
  };
}

function unknownInput(
  what: string,
  name: string,
  inputs: readonly StableHloInput<number>[],
): ArgumentError {
  return new ArgumentError(`${what} feeds ${name}, which is no input`, {
    op,
    expected: inputs.map((input) => input.name).join(', '),
    actual: name,
  });
}

/** Entries of a record in the order of the inputs; all of them have to be there, and no others. */
function namesIn(
  record: ArrayRecord,
  { what, inputs }: Feeding,
): readonly (readonly [string, NDArray])[] {
  for (const name of Object.keys(record)) {
    if (!inputs.some((input) => input.name === name)) throw unknownInput(what, name, inputs);
  }
  return inputs.map(({ name }) => {
    if (Object.hasOwn(record, name) && record[name] instanceof NDArray) return [name, record[name]];
    throw new ArgumentError(`${what} has no array ${name}`, {
      op,
      expected: `arrays for ${inputs.map((input) => input.name).join(', ')}`,
      actual: Object.hasOwn(record, name) ? `${name}: ${describe(record[name])}` : Object.keys(record).join(', ') || 'nothing',
    }); // prettier-ignore
  });
}

function storedExamples(
  dataset: Dataset<ArrayRecord>,
  folder: string,
  feeding: Feeding,
): PreparedData {
  const { what, inputs, batch } = feeding;
  if (dataset.length < batch) {
    throw new ArgumentError(`${what} is smaller than a batch`, {
      op,
      expected: `at least ${batch} examples`,
      actual: String(dataset.length),
    });
  }
  const bytesOfExample = inputs.reduce((sum, { dtype, shape }) => sum + (bytesOf(dtype) * shape.reduce((a, b) => a * b, 1)) / batch, 0); // prettier-ignore
  const rows = Math.max(1, Math.floor(bytesOfFile / Math.max(1, bytesOfExample)));
  const files = Array.from({ length: Math.ceil(dataset.length / rows) }, (_, k) => `${folder}/${String(k).padStart(5, '0')}.safetensors`); // prettier-ignore
  // Arrays in memory are checked before anything is written, other examples as they come.
  if (dataset instanceof ArrayDataset) checkExamples(dataset.get(0) as ArrayRecord, feeding, []);
  return {
    stored: {
      kind: 'safetensors',
      files,
      feeds: Object.fromEntries(inputs.map(({ name }) => [name, name])),
    },
    contents: contentsOf(dataset, files, rows, feeding),
  };
}

async function* contentsOf(
  dataset: Dataset<ArrayRecord>,
  files: readonly string[],
  rows: number,
  feeding: Feeding,
): AsyncIterable<readonly [string, Uint8Array]> {
  for (const [k, file] of files.entries()) {
    const count = Math.min(rows, dataset.length - k * rows);
    const indices = Array.from({ length: count }, (_, i) => k * rows + i);
    const record =
      dataset.batch === undefined
        ? collate(await Promise.all(indices.map((index) => dataset.get(index))))
        : await dataset.batch(indices);
    const entries = checkExamples(record, feeding, [count]);
    const tensors = new Map(entries.map(([name, array]) => [name, toFileTensor(array)]));
    yield [file, encodeSafetensors({ tensors, metadata: new Map() })];
  }
}

/** Checks examples, behind `leading` axes that count them. */
function checkExamples(
  record: ArrayRecord,
  feeding: Feeding,
  leading: readonly number[],
): readonly (readonly [string, NDArray])[] {
  const entries = namesIn(record, feeding);
  entries.forEach(([name, array], k) => {
    const { dtype, shape } = feeding.inputs[k];
    const wanted = [...leading, ...shape.filter((_, axis) => axis !== feeding.axes[name])];
    if (array.dtype !== dtype) {
      throw new DTypeError(`${feeding.what} has another dtype for ${name}`, {
        op,
        expected: dtype,
        actual: array.dtype,
        advice: `convert it with astype('${dtype}')`,
      });
    }
    if (String(array.shape) === String(wanted)) return;
    throw new ShapeError(`examples of ${name} in ${feeding.what} have another shape`, {
      op,
      expected: `[${wanted.slice(leading.length).join(', ')}]`,
      actual: `[${array.shape.slice(leading.length).join(', ')}]`,
    });
  });
  return entries;
}
