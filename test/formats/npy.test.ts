import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError, UnsupportedError } from '../../src/base/errors.js';
import { decodeNpy, encodeNpy } from '../../src/formats/npy.js';

/** A file as NumPy writes it: `numpy.save` of `numpy.array([[1, 2], [3, 4]], dtype)`. */
function file(header: string, elements: ArrayBufferView, version: 1 | 2 = 1): Uint8Array {
  const prefix = version === 1 ? 10 : 12;
  const text = `${header.padEnd(128 - prefix - 1)}\n`;
  const length = version === 1 ? [text.length, 0] : [text.length, 0, 0, 0];
  const body = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  return Uint8Array.from([
    ...[0x93, ...'NUMPY'].map((byte) => (typeof byte === 'string' ? byte.charCodeAt(0) : byte)),
    version,
    0,
    ...length,
    ...[...text].map((character) => character.charCodeAt(0)),
    ...body,
  ]);
}

const header = (description: string, shape: string): string =>
  `{'descr': '${description}', 'fortran_order': False, 'shape': ${shape}, }`;

test('files of NumPy are read', () => {
  const floats = Float32Array.of(1, 2, 3, 4);
  for (const version of [1, 2] as const) {
    assert.deepEqual(decodeNpy(file(header('<f4', '(2, 2)'), floats, version)), {
      dtype: 'float32',
      shape: [2, 2],
      data: floats,
    });
  }
  const big = BigInt64Array.of(-(2n ** 40n), 3n);
  assert.deepEqual(decodeNpy(file(header('<i8', '(2,)'), big)).data, big);
  const truth = decodeNpy(file(header('|b1', '()'), Uint8Array.of(1)));
  assert.deepEqual(truth, { dtype: 'bool', shape: [], data: Uint8Array.of(1) });
  assert.deepEqual(decodeNpy(file(header('<f8', '(0, 3)'), new Float64Array(0))).shape, [0, 3]);
});

test('what is written has the header that the format asks for, and reads back', () => {
  const array = { dtype: 'int32', shape: [3, 1], data: Int32Array.of(5, -6, 7) } as const;
  const bytes = encodeNpy(array);
  const text = String.fromCharCode(...bytes.subarray(0, 128));
  assert.equal(text.slice(0, 8), '\x93NUMPY\x01\x00');
  assert.equal((10 + bytes[8] + 256 * bytes[9]) % 64, 0);
  assert.match(text, /^.{10}\{'descr': '<i4', 'fortran_order': False, 'shape': \(3, 1\), \} *\n/s);
  assert.deepEqual(decodeNpy(bytes), array);
  const one = { dtype: 'float16', shape: [2], data: Uint16Array.of(0x3c00, 0xfc00) } as const;
  assert.deepEqual(decodeNpy(encodeNpy(one)), one);
});

test('damaged files and what is not read are refused', () => {
  const floats = Float32Array.of(1, 2);
  assert.throws(() => decodeNpy(Uint8Array.of(1, 2, 3)), FormatError);
  assert.throws(() => decodeNpy(file('{}', floats)), FormatError);
  assert.throws(() => decodeNpy(file(header('<f4', '(3,)'), floats)), FormatError);
  assert.throws(() => decodeNpy(file(header('>f4', '(2,)'), floats)), UnsupportedError);
  assert.throws(() => decodeNpy(file(header('<c8', '(1,)'), floats)), UnsupportedError);
  const columns = header('<f4', '(2,)').replace('False', 'True');
  assert.throws(() => decodeNpy(file(columns, floats)), UnsupportedError);
  const bits = { dtype: 'bfloat16', shape: [1], data: Uint16Array.of(0) } as const;
  assert.throws(() => encodeNpy(bits), UnsupportedError);
});
