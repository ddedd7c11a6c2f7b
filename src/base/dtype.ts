import { DeviceError, DTypeError } from './errors.js';

/** The type of an array's elements. */
export type DType =
  'bool' | 'uint8' | 'int8' | 'int32' | 'int64' | 'bfloat16' | 'float16' | 'float32' | 'float64';

/** The typed arrays that store elements. 16-bit floats are stored as their bits. */
export type HostArray =
  Float32Array | Float64Array | Uint16Array | Int8Array | Uint8Array | Int32Array | BigInt64Array;

export type DTypeKind = 'bool' | 'int' | 'float';

interface DTypeFacts {
  /** Bytes of one element in memory. */
  readonly bytes: number;
  readonly kind: DTypeKind;
  /** A new zeroed array for `length` elements. */
  allocate(length: number): HostArray;
  /** A view of existing bytes; `offset` is in bytes and must be a multiple of `bytes`. */
  view(buffer: ArrayBufferLike, offset: number, length: number): HostArray;
}

/** In the order of the promotion lattice's rows. */
const facts: Readonly<Record<DType, DTypeFacts>> = {
  bool: home(1, 'bool', Uint8Array),
  uint8: home(1, 'int', Uint8Array),
  int8: home(1, 'int', Int8Array),
  int32: home(4, 'int', Int32Array),
  int64: home(8, 'int', BigInt64Array),
  bfloat16: home(2, 'float', Uint16Array),
  float16: home(2, 'float', Uint16Array),
  float32: home(4, 'float', Float32Array),
  float64: home(8, 'float', Float64Array),
};

/** The element types of arrays, in the order of the promotion lattice's rows. */
export const dtypes: readonly DType[] = Object.keys(facts) as DType[]; // a record of every dtype, and of nothing else

interface HostArrayConstructor {
  new (length: number): HostArray;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): HostArray;
}

function home(bytes: number, kind: DTypeKind, Home: HostArrayConstructor): DTypeFacts {
  return {
    bytes,
    kind,
    allocate: (length) => new Home(length),
    view: (buffer, offset, length) => new Home(buffer, offset, length),
  };
}

export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && Object.hasOwn(facts, value);
}

/** Bytes of one element in memory. */
export function bytesOf(dtype: DType): number {
  return facts[dtype].bytes;
}

export function kindOf(dtype: DType): DTypeKind {
  return facts[dtype].kind;
}

export function isFloat(dtype: DType): boolean {
  return facts[dtype].kind === 'float';
}

/**
 * A new zeroed array for `length` elements.
 * @throws DeviceError when the engine cannot allocate that many.
 */
export function allocate(dtype: DType, length: number): HostArray {
  try {
    return facts[dtype].allocate(length);
  } catch (cause) {
    throw new DeviceError('there is no memory for this array', {
      expected: 'a size that the memory of this machine holds',
      actual: `${length} elements of ${dtype}`,
      advice: 'check its shape, or work on smaller pieces',
      cause,
    });
  }
}

export function viewOf(
  dtype: DType,
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
): HostArray {
  return facts[dtype].view(buffer, byteOffset, length);
}

/** Copies between arrays of one dtype. */
export function copyElements(to: HostArray, from: HostArray): void {
  (to as Float32Array).set(from as Float32Array); // one dtype on both sides: the cast only picks an overload
}

/**
 * A copy of elements of a dtype, in memory of its own.
 * @throws DeviceError when the engine cannot allocate.
 */
export function copyOfElements(dtype: DType, elements: HostArray): HostArray {
  const copy = allocate(dtype, elements.length);
  copyElements(copy, elements);
  return copy;
}

/** The kind of a JavaScript number among arrays; it takes its width from the arrays around it. */
export type WeakKind = 'weak-bool' | 'weak-int' | 'weak-float';

/**
 * The dtype that arithmetic between `a` and `b` happens in; PyTorch's table.
 * bool < integers < floats; a float beats any integer, the wider of a kind wins,
 * and two different narrow types of equal width meet in the next wider one.
 */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  const [low, high] = dtypes.indexOf(a) < dtypes.indexOf(b) ? [a, b] : [b, a];
  if (low === 'uint8' && high === 'int8') return 'int32'; // PyTorch says int16, which Kaon lacks
  if (low === 'bfloat16' && high === 'float16') return 'float32';
  return high;
}

/**
 * The common dtype of a call's operands. Weak kinds count only when they are of a higher kind than
 * every array: a fractional number turns integers into float32, an integer turns bool into int64.
 */
export function promoteAll(operands: readonly (DType | WeakKind)[]): DType {
  let strong: DType | undefined;
  let weak: WeakKind | undefined;
  for (const operand of operands) {
    if (isWeak(operand)) {
      if (weak === undefined || weakRank[operand] > weakRank[weak]) weak = operand;
    } else strong = strong === undefined ? operand : promote(strong, operand);
  }
  if (weak === undefined) {
    if (strong === undefined)
      throw new DTypeError('there is no operand to take a dtype from', { op: 'promoteAll' });
    return strong;
  }
  if (strong === undefined) return weak === 'weak-bool' ? 'bool' : 'float32';
  if (weakRank[weak] <= kindRank[kindOf(strong)]) return strong;
  return weak === 'weak-float' ? 'float32' : 'int64';
}

export function isWeak(operand: DType | WeakKind): operand is WeakKind {
  return operand.startsWith('weak-');
}

const weakRank: Readonly<Record<WeakKind, number>> = {
  'weak-bool': 0,
  'weak-int': 1,
  'weak-float': 2,
};
const kindRank: Readonly<Record<DTypeKind, number>> = { bool: 0, int: 1, float: 2 };

/** True for a 16-bit float. */
export function isNarrowFloat(dtype: DType): dtype is 'float16' | 'bfloat16' {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/** The float dtype in which results of this dtype are computed: float32 for 16-bit floats. */
export function wideFloat(dtype: DType): DType {
  return isNarrowFloat(dtype) ? 'float32' : dtype;
}
