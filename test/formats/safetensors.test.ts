import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../../src/base/errors.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type FileTensor,
} from '../../src/formats/safetensors.js';

const tensors = new Map<string, FileTensor>([
  ['flag', { dtype: 'bool', shape: [3], data: new Uint8Array([1, 0, 1]) }],
  ['weight', { dtype: 'float32', shape: [2, 2], data: new Float32Array([1, -0, NaN, Infinity]) }],
  ['count', { dtype: 'int64', shape: [], data: new BigInt64Array([2n ** 62n + 1n]) }],
  ['half', { dtype: 'float16', shape: [1], data: new Uint16Array([0x3c00]) }],
  ['__proto__', { dtype: 'int8', shape: [1], data: new Int8Array([-5]) }],
  ['empty', { dtype: 'float64', shape: [0, 4], data: new Float64Array(0) }],
]);

/** A file with a hand-made header. */
function file(header: unknown, data: Uint8Array = new Uint8Array(0)): Uint8Array {
  const head = new TextEncoder().encode(
    typeof header === 'string' ? header : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + head.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  bytes.set(data, 8 + head.length);
  return bytes;
}

test('what is written is read back: names in order, exact bits, metadata', () => {
  const read = decodeSafetensors(
    encodeSafetensors({ tensors, metadata: new Map([['kaon', '1']]) }),
  );
  assert.deepEqual([...read.tensors.keys()], [...tensors.keys()]);
  for (const [name, { dtype, shape, data }] of tensors) {
    const other = read.tensors.get(name)!;
    assert.deepEqual([other.dtype, other.shape], [dtype, shape]);
    assert.deepEqual(other.data, data);
  }
  assert.equal(read.metadata.get('kaon'), '1');
});

test('a view into a larger buffer, as Node reads files, is read like any bytes', () => {
  const bytes = encodeSafetensors({ tensors, metadata: new Map() });
  const pooled = Buffer.concat([Buffer.alloc(3), bytes]).subarray(3);
  const read = decodeSafetensors(pooled);
  for (const [name, { data }] of tensors) assert.deepEqual(read.tensors.get(name)!.data, data);
  pooled.fill(0);
  assert.deepEqual(read.tensors.get('weight')!.data, tensors.get('weight')!.data);
});

test('a file written by hand after the format description is read', () => {
  const header = {
    a: { dtype: 'I32', shape: [2], data_offsets: [0, 8] },
    __metadata__: { by: 'hand' },
  };
  const read = decodeSafetensors(file(header, new Uint8Array(new Int32Array([7, -1]).buffer)));
  assert.deepEqual(read.tensors.get('a')!.data, new Int32Array([7, -1]));
  assert.equal(read.metadata.get('by'), 'hand');
});

test('data starts 8-byte aligned and wide dtypes come first', () => {
  const bytes = encodeSafetensors({ tensors, metadata: new Map() });
  assert.equal(Number(new DataView(bytes.buffer).getBigUint64(0, true)) % 8, 0);
});

const hostile: readonly [string, Uint8Array, RegExp][] = [
  ['an empty file', new Uint8Array(0), /ends inside the header length/],
  ['a huge header length', new Uint8Array([255, 255, 255, 255, 255, 255, 255, 255]), /header is longer/],
  ['a truncated header', file({}).slice(0, 9), /header is longer/],
  ['no JSON', file('{"a":'), /not JSON/],
  ['bad UTF-8', file({}).fill(0xff, 8), /not JSON/],
  ['a list for a header', file([]), /not an object/],
  ['a foreign dtype', file({ a: { dtype: 'F8', shape: [], data_offsets: [0, 1] } }, new Uint8Array(1)), /foreign dtype/],
  ['a negative extent', file({ a: { dtype: 'U8', shape: [-1], data_offsets: [0, 1] } }, new Uint8Array(1)), /proper shape/],
  ['a range past the end', file({ a: { dtype: 'U8', shape: [9], data_offsets: [0, 9] } }, new Uint8Array(4)), /do not fit/],
  ['a range of the wrong size', file({ a: { dtype: 'F32', shape: [2], data_offsets: [0, 4] } }, new Uint8Array(4)), /do not fit/],
  ['an overflowing shape', file({ a: { dtype: 'U8', shape: [2 ** 40, 2 ** 40], data_offsets: [0, 4] } }, new Uint8Array(4)), /do not fit/],
  ['a hole', file({ a: { dtype: 'U8', shape: [1], data_offsets: [1, 2] } }, new Uint8Array(2)), /overlaps another or leaves a hole/],
  ['bytes left over', file({ a: { dtype: 'U8', shape: [1], data_offsets: [0, 1] } }, new Uint8Array(2)), /left over/],
  ['metadata that is not text', file({ __metadata__: { a: 1 } }), /not text/],
]; // prettier-ignore

for (const [what, bytes, message] of hostile) {
  test(`${what} is a FormatError`, () => {
    assert.throws(
      () => decodeSafetensors(bytes),
      (error) => error instanceof FormatError && message.test(error.message),
    );
  });
}
