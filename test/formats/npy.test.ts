import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError, UnsupportedError } from '../../src/base/errors.js';
import { decodeNpy, encodeNpy } from '../../src/formats/npy.js';
import { fromBase64 } from '../../src/base/base64.js';
import * as kn from '../../src/index.js';
import { fromFileTensor } from '../../src/nn/persistence.js';
import { npyFiles } from './npy-files.js';

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

test('files of NumPy of every dtype, order and version', () => {
  assert.ok(npyFiles.length > 50 && kn.dtypes.length === 9);
  for (const { name, file: text, shape, elements } of npyFiles) {
    const { dtype, shape: found, data } = decodeNpy(fromBase64(text));
    const array = fromFileTensor({ dtype, shape: found, data });
    assert.deepEqual([found, array.astype('float64').flatten().tolist()], [shape, elements], name); // prettier-ignore
    const kind = /^[<>](\w\d) /.exec(name)?.[1];
    const carrier = { u2: 'int32', i2: 'int32', u4: 'int64', u8: 'int64', f4: 'float32', b1: 'bool' }[kind ?? '']; // prettier-ignore
    if (carrier !== undefined) assert.equal(dtype, carrier, name);
  }
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
  for (const foreign of ['<c8', '|O', '<U2', '<M8[ns]', '<f16', '|V8', '|S8']) {
    assert.throws(() => decodeNpy(file(header(foreign, '(1,)'), floats)), UnsupportedError);
  }
  const records = header('<f4', '(1,)').replace("'<f4'", "[('a', '<f4'), ('b', '<f4')]");
  assert.throws(() => decodeNpy(file(records, floats)), UnsupportedError);
  const axes = header('<f4', `(${'1, '.repeat(65)})`);
  assert.throws(() => decodeNpy(file(axes, Float32Array.of(1))), FormatError);
  assert.throws(() => decodeNpy(file(header('<f4', '(99999999999, 99999999999)'), floats)), FormatError); // prettier-ignore
  const beyond = BigUint64Array.of(5n, 2n ** 63n);
  assert.throws(
    () => decodeNpy(file(header('<u8', '(2,)'), beyond)),
    (error) => error instanceof FormatError && /element 1 /.test(error.message),
  );
  const bits = { dtype: 'bfloat16', shape: [1], data: Uint16Array.of(0) } as const;
  assert.throws(() => encodeNpy(bits), UnsupportedError);
});
