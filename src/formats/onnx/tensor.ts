import { bytesOf, type HostArray, viewOf } from '../../base/dtype.js';
import { UnsupportedError } from '../../base/errors.js';
import type { ConstantData } from '../../ir/types.js';
import { decodeNarrow, type ElementType, elementByCode, elementName } from './elements.js';
import { checkLocation, type ExternalData } from './external.js';
import { damagedFile, importOp, safeInteger, quotedName } from './place.js';
import type { SparseTensorProto, TensorProto } from './proto/onnx_pb.js';

/** A tensor of a file, in its carrier dtype. */
export interface HostTensor extends ConstantData {
  readonly element: ElementType;
}

/** The element type of a code; complex numbers and strings are refused by name. */
export function elementFor(code: number, what: string): ElementType {
  const element = elementByCode(code);
  if (element !== undefined) return element;
  if (code < 0 || code > 26 || code === 0) throw damagedFile(`${what} has no element type`, undefined, String(code)); // prettier-ignore
  throw new UnsupportedError(`${what} is of ${elementName(code)}`, {
    op: importOp,
    expected: 'numbers or truth values',
    actual: elementName(code),
  });
}

/** Refuses invalid extents, and returns the number of elements. */
function checkedShape(
  dims: readonly bigint[],
  what: string,
): { shape: readonly number[]; count: number } {
  const shape = dims.map((dim) => {
    const size = safeInteger(dim, `a size of ${what}`);
    if (size < 0) throw damagedFile(`a size of ${what} is negative`, 'sizes of 0 or more', String(size)); // prettier-ignore
    return size;
  });
  const count = shape.includes(0) ? 0 : shape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(count)) throw damagedFile(`${what} has too many elements`, undefined, shape.join(' x ')); // prettier-ignore
  return { shape, count };
}

/**
 * Reads a tensor. Nothing is allocated before the file is known to contain as much.
 * @throws FormatError for damaged or missing data, UnsupportedError for strings and complex numbers.
 */
export function readTensor(
  proto: TensorProto,
  what: string,
  external: ExternalData | null,
): HostTensor {
  const element = elementFor(proto.dataType, what);
  const { shape, count } = checkedShape(proto.dims, what);
  if (proto.segment !== undefined) {
    throw new UnsupportedError(`${what} is stored in segments`, { op: importOp });
  }
  const data = isExternal(proto)
    ? fromRaw(element, count, externalBytes(proto, element, count, what, external), what)
    : proto.rawData.length > 0 || count === 0
      ? fromRaw(element, count, proto.rawData, what)
      : fromFields(element, count, proto, what);
  return { element, type: { dtype: element.carrier, shape }, data };
}

function isExternal(proto: TensorProto): boolean {
  return proto.dataLocation === 1 || proto.externalData.length > 0;
}

function byteCount(element: ElementType, count: number): number {
  return Math.ceil((count * element.bits) / 8);
}

function externalBytes(
  { externalData }: TensorProto,
  element: ElementType,
  count: number,
  what: string,
  external: ExternalData | null,
): Uint8Array {
  const entries = new Map(externalData.map(({ key, value }) => [key, value]));
  const location = entries.get('location');
  if (location === undefined) throw damagedFile(`${what} does not say where its data lies`);
  checkLocation(location, what);
  if (external === null) {
    throw damagedFile(
      `the data of ${what} lies in another file`,
      'the option externalData: a folder, or a function from names to bytes',
      quotedName(location),
    );
  }
  const number = (key: string, otherwise: number): number => {
    const text = entries.get(key);
    if (text === undefined) return otherwise;
    if (!/^\d{1,16}$/.test(text)) throw damagedFile(`the ${key} of ${what} is no number`, undefined, quotedName(text)); // prettier-ignore
    return Number(text);
  };
  const available = external.size(location);
  const wanted = byteCount(element, count);
  const offset = number('offset', 0);
  const length = number('length', wanted);
  if (length !== wanted || offset + length > available) {
    throw damagedFile(
      `the external data of ${what} does not fit`,
      `${wanted} bytes within ${available}`,
      `${length} bytes from byte ${offset} on`,
    );
  }
  return external.read(location, offset, length);
}

/** Elements from raw bytes: little-endian, narrow elements packed from the low bits up. */
function fromRaw(element: ElementType, count: number, bytes: Uint8Array, what: string): HostArray {
  if (bytes.length !== byteCount(element, count)) {
    throw damagedFile(
      `the data of ${what} does not fit its shape`,
      `${byteCount(element, count)} bytes`,
      `${bytes.length}`,
    );
  }
  const { carrier, isOwn, bits } = element;
  if (isOwn || bits === 64) {
    const copy = new Uint8Array(bytes); // aligned, and apart from the file
    const data = viewOf(carrier, copy.buffer, copy.byteOffset, copy.length / bytesOf(carrier));
    return carrier === 'bool' ? Uint8Array.from(data as Uint8Array, (bit) => Number(bit !== 0)) : data; // prettier-ignore
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return carried(element, count, (i) => {
    if (bits === 32) return view.getUint32(i * 4, true);
    if (bits === 16) return view.getUint16(i * 2, true);
    const perByte = 8 / bits;
    return (bytes[Math.floor(i / perByte)] >> ((i % perByte) * bits)) & (2 ** bits - 1);
  });
}

/** Foreign elements in their carrier dtype, given their bits. */
function carried(element: ElementType, count: number, bitsAt: (i: number) => number): HostArray {
  const { carrier, bits, isSigned, narrow } = element;
  if (narrow !== undefined) {
    return Float32Array.from({ length: count }, (_, i) => decodeNarrow(narrow, bitsAt(i)));
  }
  const number = (i: number): number => {
    const unsigned = bitsAt(i);
    return isSigned && unsigned >= 2 ** (bits - 1) ? unsigned - 2 ** bits : unsigned;
  };
  if (carrier === 'int64')
    return BigInt64Array.from({ length: count }, (_, i) => BigInt(number(i)));
  if (carrier === 'int32') return Int32Array.from({ length: count }, (_, i) => number(i));
  return carrier === 'int8'
    ? Int8Array.from({ length: count }, (_, i) => number(i))
    : Uint8Array.from({ length: count }, (_, i) => number(i));
}

/** Elements from the typed fields; those other than int64 and wide floats share the int32 field. */
function fromFields(
  element: ElementType,
  count: number,
  proto: TensorProto,
  what: string,
): HostArray {
  const { name, carrier, bits, isOwn } = element;
  const counted = <T>(list: readonly T[], expected: number = count): readonly T[] => {
    if (list.length === expected) return list;
    throw damagedFile(
      `the data of ${what} does not fit its shape`,
      `${expected} entries`,
      `${list.length}`,
    );
  };
  switch (name) {
    case 'float':
      return Float32Array.from(counted(proto.floatData));
    case 'double':
      return Float64Array.from(counted(proto.doubleData));
    case 'int64':
      return BigInt64Array.from(counted(proto.int64Data));
    case 'uint32':
    case 'uint64':
      return BigInt64Array.from(counted(proto.uint64Data), (value) => BigInt.asIntN(64, value));
    default:
  }
  const packed = counted(proto.int32Data, bits < 8 ? byteCount(element, count) : count);
  if (!isOwn) {
    const perEntry = bits < 8 ? 8 / bits : 1;
    const mask = 2 ** bits - 1;
    return carried(
      element,
      count,
      (i) => (packed[Math.floor(i / perEntry)] >> (bits < 8 ? (i % perEntry) * bits : 0)) & mask,
    );
  }
  switch (carrier) {
    case 'float16':
    case 'bfloat16':
      return Uint16Array.from(packed);
    case 'int32':
      return Int32Array.from(packed);
    case 'int8':
      return Int8Array.from(packed);
    case 'uint8':
      return Uint8Array.from(packed);
    default:
      return Uint8Array.from(packed, (bit) => Number(bit !== 0));
  }
}

/** Size limit of a sparse tensor, which is stored densely. */
const densest = 2 ** 24;

/** Reads a sparse tensor as a dense one. */
export function readSparse(
  proto: SparseTensorProto,
  what: string,
  external: ExternalData | null,
): HostTensor {
  const { values, indices, dims } = proto;
  if (values === undefined || indices === undefined) throw damagedFile(`${what} lacks values or indices`); // prettier-ignore
  const { shape, count } = checkedShape(dims, what);
  if (count > densest) {
    throw new UnsupportedError(`${what} has too many elements to be written out`, {
      op: importOp,
      expected: `at most ${densest}`,
      actual: String(count),
    });
  }
  const entries = readTensor(values, `the values of ${what}`, external);
  const places = readTensor(indices, `the indices of ${what}`, external);
  const [length, rank = null] = places.type.shape;
  const fits =
    entries.type.shape.length === 1 &&
    places.element.name === 'int64' &&
    length === entries.type.shape[0] &&
    (rank === null || rank === shape.length);
  if (!fits) throw damagedFile(`the indices of ${what} do not fit its values`);
  const data = viewOf(entries.element.carrier, new ArrayBuffer(count * bytesOf(entries.element.carrier)), 0, count); // prettier-ignore
  for (let i = 0; i < length; i++) {
    let at = 0;
    if (rank === null) at = Number(places.data[i]);
    else {
      for (let axis = 0; axis < rank; axis++) {
        const index = Number(places.data[i * rank + axis]);
        if (index < 0 || index >= shape[axis]) at = NaN;
        at = at * shape[axis] + index;
      }
    }
    if (!(at >= 0 && at < count)) throw damagedFile(`an index of ${what} is outside its shape`);
    data[at] = entries.data[i];
  }
  return { element: entries.element, type: { dtype: entries.element.carrier, shape }, data };
}
