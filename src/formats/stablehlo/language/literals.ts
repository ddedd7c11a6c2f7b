import { bytesOf, type DType, type HostArray, isFloat } from '../../../base/dtype.js';
import { readElement } from '../../../base/element.js';
import { countOf } from './types.js';

/** Up to this many elements are written one by one; more as the bytes of their memory. */
const mostWritten = 32;

/** One number as an element of a literal. Floats without a decimal form are written as their bits. */
export function numberText(dtype: DType, value: number | bigint): string {
  if (dtype === 'bool') return Number(value) === 0 ? 'false' : 'true';
  if (!isFloating(dtype)) return String(value);
  const number = Number(value);
  if (!Number.isFinite(number)) return specialBits[dtype][specialOf(number)];
  if (Object.is(number, -0)) return '-0.0';
  const text = String(number);
  if (text.includes('.')) return text;
  const exponent = text.indexOf('e');
  return exponent < 0 ? `${text}.0` : `${text.slice(0, exponent)}.0${text.slice(exponent)}`;
}

/** The elements of a tensor as the inside of `dense<...>`. */
export function literalText(dtype: DType, data: HostArray, shape: readonly number[]): string {
  const count = countOf(shape);
  if (count === 0) return '';
  const numberAt = (i: number): string => numberText(dtype, elementOf(dtype, data, i));
  const first = numberAt(0);
  if (Array.from({ length: count }, (_, i) => i).every((i) => numberAt(i) === first)) return first;
  if (dtype !== 'bool' && count > mostWritten) {
    return `"0x${hexOf(new Uint8Array(data.buffer, data.byteOffset, count * bytesOf(dtype)))}"`;
  }
  const nested = (axis: number, start: number): string => {
    if (axis === shape.length) return numberAt(start);
    const stride = countOf(shape.slice(axis + 1));
    const parts = Array.from({ length: shape[axis] }, (_, i) =>
      nested(axis + 1, start + i * stride),
    );
    return `[${parts.join(', ')}]`;
  };
  return nested(0, 0);
}

type FloatDType = 'float16' | 'bfloat16' | 'float32' | 'float64';

function isFloating(dtype: DType): dtype is FloatDType {
  return isFloat(dtype);
}

type Special = 'nan' | 'infinity' | 'minusInfinity';

function specialOf(number: number): Special {
  if (Number.isNaN(number)) return 'nan';
  return number > 0 ? 'infinity' : 'minusInfinity';
}

/** The bits of floats that have no decimal form. */
const specialBits: Readonly<Record<FloatDType, Readonly<Record<Special, string>>>> = {
  float16: { nan: '0x7E00', infinity: '0x7C00', minusInfinity: '0xFC00' },
  bfloat16: { nan: '0x7FC0', infinity: '0x7F80', minusInfinity: '0xFF80' },
  float32: { nan: '0x7FC00000', infinity: '0x7F800000', minusInfinity: '0xFF800000' },
  float64: {
    nan: '0x7FF8000000000000',
    infinity: '0x7FF0000000000000',
    minusInfinity: '0xFFF0000000000000',
  },
};

function elementOf(dtype: DType, data: HostArray, i: number): number | bigint {
  const element = readElement(dtype, data, i);
  return typeof element === 'boolean' ? Number(element) : element;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join('');
}
