import { bytesOf, type DType, dtypes, type HostArray, viewOf } from '../base/dtype.js';
import { FormatError } from '../base/errors.js';
import { carriedIntegers, type CarriedInteger, widenElements } from './carriers.js';

/**
 * The safetensors container: eight bytes of little-endian header length, a JSON header that gives
 * each tensor's dtype, shape and byte range, then the bytes, row-major and little-endian.
 * Source: the format description of the safetensors project.
 */
export interface TensorFile {
  readonly tensors: ReadonlyMap<string, FileTensor>;
  /** Free text by key. */
  readonly metadata: ReadonlyMap<string, string>;
}

export interface FileTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

const codes: Readonly<Record<DType, string>> = {
  bool: 'BOOL',
  uint8: 'U8',
  int8: 'I8',
  int32: 'I32',
  int64: 'I64',
  bfloat16: 'BF16',
  float16: 'F16',
  float32: 'F32',
  float64: 'F64',
};
/** Readable types: the dtypes, and integers with a carrier dtype. */
const byCode: ReadonlyMap<string, DType | CarriedInteger> = new Map<string, DType | CarriedInteger>(
  [
    ...dtypes.map((dtype): [string, DType] => [codes[dtype], dtype]),
    ...[...carriedIntegers].map(([name, integer]): [string, CarriedInteger] => [
      name.replace('uint', 'U').replace('int', 'I'),
      integer,
    ]),
  ],
);

/** Length limit of the header, the same as the reference implementation's. */
const longestHeader = 100_000_000;
/** Alignment of tensor bytes, so that a reader can map them in place. */
const alignment = 8;

/** Writes a file. Tensors are laid out widest dtype first, which aligns each; names keep their order. */
export function encodeSafetensors(file: TensorFile): Uint8Array {
  const header: [string, unknown][] = [];
  if (file.metadata.size > 0) header.push(['__metadata__', Object.fromEntries(file.metadata)]);
  const laidOut = [...file.tensors].sort(([, a], [, b]) => bytesOf(b.dtype) - bytesOf(a.dtype));
  const ranges = new Map<string, readonly [number, number]>();
  let end = 0;
  for (const [name, { data }] of laidOut) ranges.set(name, [end, (end += data.byteLength)]);
  for (const [name, { dtype, shape }] of file.tensors) {
    header.push([name, { dtype: codes[dtype], shape, data_offsets: ranges.get(name) }]);
  }
  let text = JSON.stringify(Object.fromEntries(header));
  const encoder = new TextEncoder();
  const padding = (alignment - (encoder.encode(text).length % alignment)) % alignment;
  text += ' '.repeat(padding);
  const head = encoder.encode(text);
  const bytes = new Uint8Array(8 + head.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  for (const [name, { data }] of file.tensors) {
    bytes.set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      8 + head.length + ranges.get(name)![0],
    );
  }
  return bytes;
}

const op = 'decodeSafetensors';

function damaged(problem: string, expected?: string, actual?: string): FormatError {
  return new FormatError(`this is not a safetensors file: ${problem}`, {
    op,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { actual }),
  });
}

/**
 * Reads a file. The tensors are copies: they do not keep the bytes alive. int16 and uint16 are carried by
 * int32, uint32 and uint64 by int64.
 */
export function decodeSafetensors(bytes: Uint8Array): TensorFile {
  if (bytes.length < 8)
    throw damaged('it ends inside the header length', '8 bytes or more', `${bytes.length}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getBigUint64(0, true);
  if (length > longestHeader || 8 + Number(length) > bytes.length) {
    throw damaged(
      'the header is longer than the file',
      `at most ${bytes.length - 8} bytes`,
      `${length}`,
    );
  }
  const start = 8 + Number(length);
  const header = parseHeader(bytes.subarray(8, start));
  const tensors = new Map<string, FileTensor>();
  const ranges: { readonly name: string; readonly begin: number; readonly end: number }[] = [];
  let metadata: ReadonlyMap<string, string> = new Map();
  for (const [name, entry] of header) {
    if (name === '__metadata__') {
      metadata = readMetadata(entry);
      continue;
    }
    const { type, shape, begin, end } = readEntry(name, entry, bytes.length - start);
    const copy = new Uint8Array(bytes.subarray(start + begin, start + end)); // a Buffer's slice would share
    tensors.set(
      name,
      typeof type === 'string'
        ? { dtype: type, shape, data: viewOf(type, copy.buffer, 0, copy.length / bytesOf(type)) }
        : { dtype: type.carrier, shape, data: widenElements(op, type, copy) },
    );
    ranges.push({ name, begin, end });
  }
  checkCovered(ranges, bytes.length - start);
  return { tensors, metadata };
}

function parseHeader(bytes: Uint8Array): readonly (readonly [string, unknown])[] {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new FormatError('this is not a safetensors file: the header is not JSON', { op, cause });
  }
  if (!isRecord(header)) throw damaged('the header is not an object');
  return Object.entries(header);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readMetadata(entry: unknown): ReadonlyMap<string, string> {
  const pairs = isRecord(entry) ? Object.entries(entry) : undefined;
  if (pairs === undefined) throw damaged('its metadata is not an object');
  return new Map(
    pairs.map(([key, value]) => {
      if (typeof value !== 'string') throw damaged(`its metadata ${key} is not text`);
      return [key, value];
    }),
  );
}

function readEntry(
  name: string,
  entry: unknown,
  available: number,
): {
  type: DType | CarriedInteger;
  shape: readonly number[];
  begin: number;
  end: number;
} {
  if (!isRecord(entry)) throw damaged(`tensor ${name} is not described by an object`);
  const type = byCode.get(String(entry['dtype']));
  if (type === undefined) {
    throw damaged(
      `tensor ${name} has a foreign dtype`,
      [...byCode.keys()].join(', '),
      String(entry['dtype']),
    );
  }
  const isSize = (value: unknown): value is number =>
    Number.isSafeInteger(value) && Number(value) >= 0;
  const shape = entry['shape'];
  if (!Array.isArray(shape) || !shape.every(isSize))
    throw damaged(`tensor ${name} has no proper shape`);
  const offsets = entry['data_offsets'];
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize)) {
    throw damaged(`tensor ${name} has no proper byte range`);
  }
  const [begin, end] = offsets as [number, number];
  const elementBytes = typeof type === 'string' ? bytesOf(type) : type.bits / 8;
  const size = shape.reduce((product: number, extent: number) => product * extent, elementBytes);
  if (begin > end || end > available || end - begin !== size) {
    throw damaged(
      `the bytes of tensor ${name} do not fit`,
      `${size} bytes within ${available}`,
      `bytes ${begin} to ${end}`,
    );
  }
  return { type, shape, begin, end };
}

/** The byte ranges must tile the data: a hole or an overlap means a damaged or hostile file. */
function checkCovered(
  ranges: { readonly name: string; readonly begin: number; readonly end: number }[],
  available: number,
): void {
  let at = 0;
  for (const { name, begin, end } of ranges.sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== at)
      throw damaged(
        `tensor ${name} overlaps another or leaves a hole`,
        `byte ${at}`,
        `byte ${begin}`,
      );
    at = end;
  }
  if (at !== available) throw damaged('bytes are left over', `${at} bytes of data`, `${available}`);
}
