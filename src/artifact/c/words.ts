import type { DType, HostArray } from '../../base/dtype.js';

/** C types of elements. Two-byte floats are stored as bits. */
export const elementTypes: Readonly<Record<DType, string>> = {
  float32: 'float',
  float64: 'double',
  float16: 'uint16_t',
  bfloat16: 'uint16_t',
  int8: 'int8_t',
  uint8: 'uint8_t',
  int32: 'int32_t',
  int64: 'int64_t',
  bool: 'uint8_t',
};

const perLine = 12;

/** Elements as a constant array of C, by bits, independent of byte order and safe for NaN. */
export function wordsText(name: string, elements: HostArray): string {
  const { type, digits, suffix, words } = wordsOf(elements);
  const lines: string[] = [];
  for (let at = 0; at < words.length; at += perLine) {
    const line = Array.from(words.subarray(at, at + perLine), (word: number | bigint) => {
      return `0x${word.toString(16).padStart(digits, '0')}${suffix}`;
    });
    lines.push(`  ${line.join(', ')},`);
  }
  return `static const ${type} ${name}[${words.length}] = {\n${lines.join('\n')}\n};`;
}

function wordsOf({ buffer, byteOffset, length, BYTES_PER_ELEMENT }: HostArray): {
  readonly type: string;
  readonly digits: number;
  readonly suffix: string;
  readonly words: Uint8Array | Uint16Array | Uint32Array | BigUint64Array;
} {
  const type = `uint${8 * BYTES_PER_ELEMENT}_t`;
  const digits = 2 * BYTES_PER_ELEMENT;
  switch (BYTES_PER_ELEMENT) {
    case 1:
      return { type, digits, suffix: '', words: new Uint8Array(buffer, byteOffset, length) };
    case 2:
      return { type, digits, suffix: '', words: new Uint16Array(buffer, byteOffset, length) };
    case 4:
      return { type, digits, suffix: 'u', words: new Uint32Array(buffer, byteOffset, length) };
    default:
      return { type, digits, suffix: 'ull', words: new BigUint64Array(buffer, byteOffset, length) };
  }
}
