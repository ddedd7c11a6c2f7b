/** Encoding of constants in text and JSON: few elements as numbers, many as base64 bytes. */
import { fromBase64, toBase64 } from '../../base/base64.js';
import { allocate, bytesOf, type DType, isFloat, viewOf } from '../../base/dtype.js';
import { readElement, writeElement } from '../../base/element.js';
import { FormatError } from '../../base/errors.js';
import type { ConstantData } from '../types.js';

const fewest = 16;

/** The elements as words; null when they are many, or when words would lose bits (a NaN's payload). */
export function wordsOf({ type, data }: ConstantData): readonly string[] | null {
  if (data.length > fewest) return null;
  const words = Array.from({ length: data.length }, (_, i) => {
    const element = readElement(type.dtype, data, i);
    return Object.is(element, -0) ? '-0' : String(element);
  });
  const again = fromWords(type.dtype, type.shape, words);
  return bytesToBase64(again) === bytesToBase64({ type, data }) ? words : null;
}

/** @throws FormatError for a word that is not an element of the dtype, or for a wrong count. */
export function fromWords(
  dtype: DType,
  shape: readonly number[],
  words: readonly string[],
): ConstantData {
  checkCount(shape, words.length);
  const data = allocate(dtype, words.length);
  words.forEach((word, i) => writeElement(dtype, data, i, elementOf(dtype, word)));
  return { type: { dtype, shape }, data };
}

/** The bytes in row-major order, little-endian as every JavaScript engine keeps them. */
export function bytesToBase64({ data }: ConstantData): string {
  return toBase64(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

/** @throws FormatError for damaged text or a number of bytes that does not fit the type. */
export function fromBytes(dtype: DType, shape: readonly number[], text: string): ConstantData {
  const bytes = fromBase64(text);
  checkCount(shape, bytes.length / bytesOf(dtype));
  return {
    type: { dtype, shape },
    data: viewOf(dtype, bytes.buffer, 0, bytes.length / bytesOf(dtype)),
  };
}

function elementOf(dtype: DType, word: string): number | bigint | boolean {
  if (dtype === 'bool' && (word === 'true' || word === 'false')) return word === 'true';
  const integer = /^-?\d+$/.test(word);
  if (dtype === 'int64' && integer) return BigInt(word);
  const real = integer || /^-?(\d+(\.\d+)?(e[+-]?\d+)?|Infinity)$|^NaN$/.test(word);
  if (isFloat(dtype) ? real : dtype !== 'bool' && dtype !== 'int64' && integer) {
    return Number(word);
  }
  throw new FormatError(`${JSON.stringify(word)} is not an element of ${dtype}`);
}

function checkCount(shape: readonly number[], count: number): void {
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (!shape.every((extent) => Number.isSafeInteger(extent) && extent >= 0) || count !== size) {
    throw new FormatError('a constant has another number of elements than its shape', {
      expected: `${size} for [${shape.join(', ')}]`,
      actual: String(count),
    });
  }
}
