import { describe } from '../base/attributes/attribute.js';
import { ArgumentError, FormatError, inContext, KaonError } from '../base/errors.js';
import { loadNodeModules } from '../base/node.js';
import {
  checkArgument,
  checkOptions,
  flag,
  integerFrom,
  oneOfValues,
  type OptionRules,
} from '../base/attributes/options.js';
import { decodeNpy, encodeNpy, isNpy, type NpyArray } from '../formats/npy.js';
import { decodeNpz, encodeNpz, isZip } from '../formats/npz.js';
import { decodeSafetensors, encodeSafetensors } from '../formats/safetensors.js';
import { NDArray } from '../front/core/ndarray.js';
import { fileName, readFile, replaceFile } from './files.js';
import { fromFileTensor, readTensors } from './persistence.js';

/** Formats of array files: one NumPy array, an archive of them, or tensors by name. */
export type ArrayFormat = 'npy' | 'npz' | 'safetensors';

const formats = ['npy', 'npz', 'safetensors'] as const;

/** Location of a file: a path, an address, or its bytes. */
export type FileSource = string | URL | Uint8Array | ArrayBuffer;

/** Arrays by name. */
export type ArrayRecord = Readonly<Record<string, NDArray>>;

export interface LoadOptions {
  /** Required format. Default: the one that the first bytes show. */
  readonly format?: ArrayFormat;
  /** Limit of unpacked size; larger archives are refused. Default 2 ** 30. */
  readonly maxBytes?: number;
}

export interface SaveOptions {
  /** Compress the arrays of an .npz file. Default false. */
  readonly compress?: boolean;
}

const loadRules: OptionRules<LoadOptions> = {
  format: oneOfValues(...formats),
  maxBytes: integerFrom(0),
};
const saveRules: OptionRules<SaveOptions> = { compress: flag };

/**
 * The array of an .npy file, or the arrays of an .npz or .safetensors file by name. NumPy files may be
 * row-major or column-major, in either byte order. Integers that Kaon lacks are read as a wider dtype: int16
 * and uint16 as int32, uint32 and uint64 as int64.
 *
 * Addresses (`http:`, `https:`, `blob:`, `data:`) are fetched, in browsers paths as well.
 *
 * @throws FormatError for files that cannot be read, are damaged, of another format, or larger than
 * `maxBytes`; UnsupportedError for elements that no dtype holds; ArgumentError for other arguments.
 */
export function load(source: `${string}.npy`, options?: LoadOptions): Promise<NDArray>;
export function load(source: `${string}.npz` | `${string}.safetensors`, options?: LoadOptions): Promise<ArrayRecord>; // prettier-ignore
export function load(source: FileSource, options: LoadOptions & { readonly format: 'npy' }): Promise<NDArray>; // prettier-ignore
export function load(source: FileSource, options: LoadOptions & { readonly format: 'npz' | 'safetensors' }): Promise<ArrayRecord>; // prettier-ignore
export function load(source: FileSource, options?: LoadOptions): Promise<NDArray | ArrayRecord>;
export async function load(
  source: FileSource,
  options: LoadOptions = {},
): Promise<NDArray | ArrayRecord> {
  const op = 'load';
  checkOptions<LoadOptions>(op, options, loadRules);
  const bytes = await bytesOfFile(op, source);
  try {
    return await decode(bytes, options);
  } catch (error) {
    if (!(error instanceof KaonError)) throw error;
    throw inContext(error, nameOf(source), { op });
  }
}

/**
 * The bytes of a file.
 * @throws FormatError for a file that cannot be read, ArgumentError for a value that is not a file source.
 */
async function bytesOfFile(op: string, source: FileSource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (typeof source !== 'string' && !(source instanceof URL)) {
    throw new ArgumentError('this is not a file', {
      op,
      expected: 'a path, a URL, a Uint8Array or an ArrayBuffer',
      actual: describe(source),
    });
  }
  const isRemote = /^(?:https?|blob|data):/i.test(String(source));
  if (isRemote || (await loadNodeModules()) === null) return fetched(op, source);
  return readFile(op, source);
}

async function fetched(op: string, source: string | URL): Promise<Uint8Array> {
  const refuse = (actual: string, cause?: unknown): FormatError =>
    new FormatError(`${nameOf(source)} cannot be fetched`, {
      op,
      expected: 'a reachable address',
      actual,
      cause,
    });
  let response: Response;
  try {
    response = await fetch(source);
  } catch (cause) {
    throw refuse((cause as Error).message, cause);
  }
  if (!response.ok) throw refuse(`status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

function nameOf(source: FileSource): string {
  return typeof source === 'string' || source instanceof URL
    ? String(source).slice(0, 200)
    : 'the bytes';
}

function formatOf(bytes: Uint8Array): ArrayFormat {
  if (isNpy(bytes)) return 'npy';
  return isZip(bytes) ? 'npz' : 'safetensors';
}

async function decode(
  bytes: Uint8Array,
  { format, maxBytes = 2 ** 30 }: LoadOptions,
): Promise<NDArray | ArrayRecord> {
  const found = formatOf(bytes);
  if (format !== undefined && format !== found && !(found === 'safetensors' && bytes[8] !== 0x7b)) {
    throw new FormatError('the file is of another format', {
      op: 'load',
      expected: format,
      actual: found,
    });
  }
  switch (format ?? found) {
    case 'npy':
      return fromFileTensor(decodeNpy(bytes));
    case 'npz':
      return byName(await decodeNpz(bytes, maxBytes));
    case 'safetensors':
      return byName(decodeSafetensors(bytes).tensors);
  }
}

const byName = (arrays: ReadonlyMap<string, NpyArray>): ArrayRecord =>
  Object.fromEntries([...arrays].map(([name, array]) => [name, fromFileTensor(array)]));

/**
 * Writes one array to an .npy file, or arrays by name to an .npz or .safetensors file. The write is atomic:
 * the bytes go to a temporary file, which then replaces the target.
 *
 * @throws FormatError when the file cannot be written; UnsupportedError for bfloat16 in NumPy files and where
 * there is no file system; ArgumentError for a file of another format and for values that are not arrays.
 */
export async function save(
  path: string | URL,
  arrays: NDArray | ArrayRecord,
  options: SaveOptions = {},
): Promise<void> {
  const op = 'save';
  checkArgument(op, 'path', path, fileName);
  const [, format] = /\.([A-Za-z]+)$/.exec(path instanceof URL ? path.pathname : path) ?? [];
  if (!formats.includes(format as ArrayFormat)) {
    throw new ArgumentError('the file name does not tell the format', {
      op,
      expected: 'a path that ends in .npy, .npz or .safetensors',
      actual: describe(path),
    });
  }
  await replaceFile(op, path, await encode(op, format as ArrayFormat, arrays, options));
}

/** The bytes that `save` writes, for places without files. */
export async function saveToBytes(
  format: ArrayFormat,
  arrays: NDArray | ArrayRecord,
  options: SaveOptions = {},
): Promise<Uint8Array> {
  const op = 'saveToBytes';
  checkArgument(op, 'format', format, loadRules.format);
  return encode(op, format, arrays, options);
}

/** Arrays of a file or an object, by name. */
export async function arraysOf(
  op: string,
  source: FileSource | ArrayRecord,
): Promise<ReadonlyMap<string, NDArray>> {
  const isFile = typeof source !== 'object' || [URL, Uint8Array, ArrayBuffer].some((type) => source instanceof type); // prettier-ignore
  if (!isFile && source !== null) return new Map(recordEntries(op, source));
  const bytes = await bytesOfFile(op, source as FileSource);
  const arrays = await decode(bytes, {});
  if (!(arrays instanceof NDArray)) return new Map(Object.entries(arrays));
  throw new FormatError(`${nameOf(source as FileSource)} holds one array`, {
    op,
    expected: 'arrays by name, in an .npz or .safetensors file',
    actual: 'an .npy file',
  });
}

async function encode(
  op: string,
  format: ArrayFormat,
  arrays: NDArray | ArrayRecord,
  options: SaveOptions,
): Promise<Uint8Array> {
  checkOptions<SaveOptions>(op, options, saveRules);
  if (format === 'npy') {
    if (arrays instanceof NDArray) {
      const tensors = await readTensors([['', arrays]]);
      return encodeNpy(tensors.get('')!);
    }
    throw new ArgumentError('an .npy file holds one array', {
      op,
      expected: 'an array',
      actual: describe(arrays),
      advice: 'write arrays by name to an .npz or .safetensors file',
    });
  }
  const tensors = await readTensors(recordEntries(op, arrays));
  if (format === 'npz') return encodeNpz(tensors, options.compress ?? false);
  return encodeSafetensors({ tensors, metadata: new Map() });
}

function recordEntries(op: string, arrays: unknown): readonly (readonly [string, NDArray])[] {
  const entries =
    typeof arrays === 'object' && arrays !== null && !(arrays instanceof NDArray)
      ? Object.entries(arrays)
      : null;
  const wrong = entries?.find(([, array]) => !(array instanceof NDArray));
  if (entries !== null && wrong === undefined) return entries as [string, NDArray][];
  throw new ArgumentError('the file holds arrays by name', {
    op,
    expected: 'an object of arrays, such as { weight, bias }',
    actual: wrong === undefined ? describe(arrays) : `${wrong[0]}: ${describe(wrong[1])}`,
  });
}
