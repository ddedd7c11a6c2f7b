import type { DType, HostArray } from '../base/dtype.js';
import { FormatError } from '../base/errors.js';
import { elements } from './onnx/elements.js';

/** An integer type of file formats that Kaon lacks, with a dtype that holds its values. */
export interface CarriedInteger {
  /** Such as `uint16`. */
  readonly name: string;
  readonly carrier: DType;
  readonly bits: number;
}

/** Integers of 16 bits and more that Kaon lacks, by name: those of ONNX, with the same carrier dtypes. */
export const carriedIntegers: ReadonlyMap<string, CarriedInteger> = new Map(
  elements
    .filter(({ isOwn, narrow, bits }) => !isOwn && narrow === undefined && bits >= 16)
    .map(({ name, carrier, bits }) => [name, { name, carrier, bits }]),
);

const stored = {
  int16: Int16Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
} as const;

/**
 * Converts elements of a file, little-endian and aligned, to their carrier dtype.
 * @throws FormatError for uint64 elements beyond int64.
 */
export function widenElements(
  op: string,
  { name }: CarriedInteger,
  bytes: Uint8Array<ArrayBuffer>,
): HostArray {
  const Stored = stored[name as keyof typeof stored];
  const read = new Stored(bytes.buffer, bytes.byteOffset, bytes.byteLength / Stored.BYTES_PER_ELEMENT); // prettier-ignore
  if (read instanceof BigUint64Array) {
    const least = 2n ** 63n;
    const at = read.findIndex((element) => element >= least);
    if (at < 0) return new BigInt64Array(read.buffer, read.byteOffset, read.length);
    throw new FormatError(`element ${at} is too large for int64, which carries uint64`, {
      op,
      expected: `at most ${least - 1n}`,
      actual: String(read[at]),
      advice: "save x.astype('float64'), or x.view('int64') where the bits are what counts",
    });
  }
  if (read instanceof Uint32Array) return BigInt64Array.from(read, BigInt);
  return Int32Array.from(read);
}
