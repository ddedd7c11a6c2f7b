import { bytesOf, type DType, type HostArray, viewOf } from '../base/dtype.js';
import { FormatError, UnsupportedError } from '../base/errors.js';
import { carriedIntegers, widenElements } from './carriers.js';

/** An array in a file. */
export interface NpyArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

/** The first bytes of every file: \x93NUMPY. */
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] as const;

/** NumPy's type codes of the dtypes, without byte order. */
const kinds: Readonly<Partial<Record<DType, string>>> = {
  float32: 'f4',
  float64: 'f8',
  float16: 'f2',
  int8: 'i1',
  uint8: 'u1',
  int32: 'i4',
  int64: 'i8',
  bool: 'b1',
};

const dtypeOfKind: ReadonlyMap<string, DType> = new Map(
  Object.entries(kinds).map(([dtype, kind]) => [kind, dtype as DType]),
);

const alignment = 64;

/** True when bytes begin like an .npy file. */
export function isNpy(file: Uint8Array): boolean {
  return magic.every((byte, i) => file[i] === byte);
}

/**
 * An array as an .npy file, format 1.0 (NumPy Enhancement Proposal 1).
 * @throws UnsupportedError for bfloat16, for which the format has no name.
 */
export function encodeNpy({ dtype, shape, data }: NpyArray): Uint8Array {
  const kind = kinds[dtype];
  if (kind === undefined) {
    throw new UnsupportedError(`.npy files cannot hold ${dtype}`, {
      op: 'encodeNpy',
      expected: Object.keys(kinds).join(', '),
      actual: dtype,
      advice: 'convert it to float32, or write safetensors',
    });
  }
  const description = `${bytesOf(dtype) === 1 ? '|' : '<'}${kind}`;
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const text = `{'descr': '${description}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const start = magic.length + 4;
  const end = Math.ceil((start + text.length + 1) / alignment) * alignment;
  const file = new Uint8Array(end + data.byteLength);
  file.set(magic);
  file.set([1, 0, (end - start) & 0xff, (end - start) >> 8], magic.length);
  file.set(new TextEncoder().encode(`${text.padEnd(end - start - 1)}\n`), start);
  file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), end);
  return file;
}

/** The header of a file, and the elements after it. */
interface Parts {
  /** `<`, `>`, `=` or `|`. */
  readonly order: string;
  /** Such as `f4`. */
  readonly kind: string;
  readonly isColumnMajor: boolean;
  readonly shape: readonly number[];
  readonly elements: Uint8Array;
}

const op = 'decodeNpy';

/**
 * The array in an .npy file of any version, row-major or column-major, in either byte order. Integers that
 * Kaon lacks are carried by a wider dtype: int16 and uint16 by int32, uint32 and uint64 by int64.
 *
 * @throws FormatError for files that are damaged or not .npy files, and for uint64 elements beyond int64;
 * UnsupportedError for elements of other kinds (complex numbers, strings, objects, records).
 */
export function decodeNpy(file: Uint8Array): NpyArray {
  const { order, kind, isColumnMajor, shape, elements } = partsOf(file);
  const own = dtypeOfKind.get(kind);
  const carried = own === undefined ? carriedIntegers.get(nameOfKind(kind)) : undefined;
  if (own === undefined && carried === undefined) {
    throw new UnsupportedError('elements of this kind are not supported', {
      op,
      expected: `${[...dtypeOfKind.keys()].join(', ')}, i2, u2, u4 or u8`,
      actual: `${order}${kind}`,
      advice: "save x.astype('float32') or another of these; bfloat16 goes into safetensors files",
    });
  }
  const size = Number(kind.slice(1));
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count * size !== elements.length) {
    throw new FormatError('the file does not match its header', {
      op,
      expected: `${count * size} bytes of elements`,
      actual: String(elements.length),
    });
  }
  const bytes = new Uint8Array(elements); // a Buffer's slice would share
  if (order === '>') swapBytes(bytes, size);
  const read: HostArray =
    own === undefined ? widenElements(op, carried!, bytes) : viewOf(own, bytes.buffer, 0, count);
  const data = isColumnMajor ? rowMajor(read, shape) : read;
  return { dtype: own ?? carried!.carrier, shape, data };
}

/** `uint16` for `u2`; empty for a kind that is not an integer. */
function nameOfKind(kind: string): string {
  const [, sign, size] = /^([iu])([1248])$/.exec(kind) ?? [];
  return size === undefined ? '' : `${sign === 'u' ? 'uint' : 'int'}${8 * Number(size)}`;
}

function partsOf(file: Uint8Array): Parts {
  if (!isNpy(file) || file.length < magic.length + 4) {
    throw new FormatError('this is not a NumPy file', {
      op,
      expected: 'the bytes \\x93NUMPY first',
    });
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isLong = file[magic.length] >= 2;
  const start = magic.length + (isLong ? 6 : 4);
  if (file.length < start) throw damagedHeader('');
  const length = isLong ? view.getUint32(magic.length + 2, true) : view.getUint16(magic.length + 2, true); // prettier-ignore
  const text = new TextDecoder().decode(file.subarray(start, start + length));
  if (/'descr':\s*\[/.test(text)) {
    throw new UnsupportedError('the elements of the file are records', {
      op,
      expected: 'elements of one kind',
      actual: text.slice(0, 120).trim(),
      advice: "save each field as an array of its own: numpy.savez(file, **{name: x[name] for name in x.dtype.names})", // prettier-ignore
    });
  }
  const [, order, kind] = /'descr':\s*'([<>=|]?)([A-Za-z]\d*)[^']*'/.exec(text) ?? [];
  const [, columns] = /'fortran_order':\s*(True|False)/.exec(text) ?? [];
  const [, extents] = /'shape':\s*\(([\dL\s,]*)\)/.exec(text) ?? [];
  if (kind === undefined || columns === undefined || extents === undefined) {
    throw damagedHeader(text);
  }
  const shape = extents
    .split(',')
    .map((extent) => extent.trim())
    .filter(Boolean)
    .map((extent) => Number(extent.replace('L', ''))); // of Python 2
  if (shape.length > mostAxes || !shape.every(Number.isSafeInteger)) throw damagedHeader(text);
  const isColumnMajor = columns === 'True';
  return { order, kind, isColumnMajor, shape, elements: file.subarray(start + length) };
}

/** NumPy's own limit is 64. */
const mostAxes = 64;

function damagedHeader(text: string): FormatError {
  return new FormatError('the header of the file is damaged', {
    op,
    expected: "'descr', 'fortran_order' and 'shape'",
    actual: text.slice(0, 120).trim(),
  });
}

/** Reverses the bytes of each element. */
function swapBytes(bytes: Uint8Array, size: number): void {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
}

/** Converts column-major elements to row-major. */
function rowMajor(elements: HostArray, shape: readonly number[]): HostArray {
  const rank = shape.length;
  const strides: number[] = [];
  let stride = 1;
  for (const extent of shape) {
    strides.push(stride);
    stride *= extent;
  }
  const result = elements.slice();
  const index = shape.map(() => 0);
  let from = 0;
  for (let to = 0; to < result.length; to++) {
    result[to] = elements[from];
    for (let axis = rank - 1; axis >= 0; axis--) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}
