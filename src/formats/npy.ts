import { bytesOf, type DType, type HostArray, viewOf } from '../base/dtype.js';
import { FormatError, UnsupportedError } from '../base/errors.js';

/** An array in a file. */
export interface NpyArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

/** The first bytes of every file: \x93NUMPY. */
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] as const;

const descriptions: Readonly<Partial<Record<DType, string>>> = {
  float32: '<f4',
  float64: '<f8',
  float16: '<f2',
  int8: '|i1',
  uint8: '|u1',
  int32: '<i4',
  int64: '<i8',
  bool: '|b1',
};

const alignment = 64;

/**
 * An array as a file of NumPy, format 1.0 (NumPy Enhancement Proposal 1).
 * @throws UnsupportedError for bfloat16, which the format has no name for.
 */
export function encodeNpy({ dtype, shape, data }: NpyArray): Uint8Array {
  const description = descriptions[dtype];
  if (description === undefined) {
    throw new UnsupportedError(`.npy files cannot hold ${dtype}`, {
      op: 'encodeNpy',
      expected: Object.keys(descriptions).join(', '),
      actual: dtype,
      advice: 'convert it to float32, or write safetensors',
    });
  }
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

/** @throws FormatError for files that are damaged or no NumPy files, UnsupportedError for other dtypes. */
export function decodeNpy(file: Uint8Array): NpyArray {
  const op = 'decodeNpy';
  if (magic.some((byte, i) => file[i] !== byte) || file.length < magic.length + 4) {
    throw new FormatError('this is no file of NumPy', {
      op,
      expected: 'the bytes \\x93NUMPY first',
    });
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isLong = file[magic.length] >= 2;
  const start = magic.length + (isLong ? 6 : 4);
  const length = isLong ? view.getUint32(magic.length + 2, true) : view.getUint16(magic.length + 2, true); // prettier-ignore
  const text = new TextDecoder().decode(file.subarray(start, start + length));
  const [, description] = /'descr':\s*'([^']*)'/.exec(text) ?? [];
  const [, order] = /'fortran_order':\s*(True|False)/.exec(text) ?? [];
  const [, extents] = /'shape':\s*\(([\d\s,]*)\)/.exec(text) ?? [];
  if (description === undefined || order === undefined || extents === undefined) {
    throw new FormatError('the header of the file is damaged', {
      op,
      expected: "'descr', 'fortran_order' and 'shape'",
      actual: text.slice(0, 120),
    });
  }
  const normal = description.replace(/^[=|]/, '<');
  const dtype = (Object.keys(descriptions) as DType[]).find(
    (known) => descriptions[known]!.replace('|', '<') === normal,
  );
  if (dtype === undefined || order === 'True') {
    throw new UnsupportedError('the elements of the file are stored in a way that is not read', {
      op,
      expected: `rows one after the other, of ${Object.values(descriptions).join(', ')}`,
      actual: `${description}${order === 'True' ? ', columns first' : ''}`,
      advice: "save numpy.ascontiguousarray(x.astype('float32'))",
    });
  }
  const shape = extents.split(',').map((extent) => extent.trim()).filter(Boolean).map(Number); // prettier-ignore
  const count = shape.reduce((product, extent) => product * extent, 1);
  const bytes = file.subarray(start + length);
  if (count * bytesOf(dtype) !== bytes.length) {
    throw new FormatError('the file does not hold what its header says', {
      op,
      expected: `${count * bytesOf(dtype)} bytes of elements`,
      actual: String(bytes.length),
    });
  }
  return { dtype, shape, data: viewOf(dtype, new Uint8Array(bytes).buffer, 0, count) };
}
