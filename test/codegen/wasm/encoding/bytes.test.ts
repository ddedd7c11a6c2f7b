import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from '../../../../src/codegen/wasm/encoding/bytes.js';

function written(write: (out: ByteWriter) => void): readonly number[] {
  const out = new ByteWriter(1); // so small that everything makes it grow
  write(out);
  assert.equal(out.length, out.bytes.length);
  return [...out.bytes];
}

/** LEB128 by definition: seven bits a byte, the last of which extends the sign. */
function leb(value: bigint): readonly number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    const low = Number(BigInt.asUintN(7, rest));
    const isLast = BigInt.asIntN(7, rest) === rest;
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

test('LEB128 as in the DWARF standard', () => {
  assert.deepEqual(written((out) => out.u32(624485)), [0xe5, 0x8e, 0x26]); // prettier-ignore
  assert.deepEqual(written((out) => out.s32(-123456)), [0xc0, 0xbb, 0x78]); // prettier-ignore
  assert.deepEqual(written((out) => out.u32(2 ** 32 - 1)), [0xff, 0xff, 0xff, 0xff, 0x0f]); // prettier-ignore
});

test('signed numbers around every change of length, and at the ends', () => {
  const edges = [6n, 7n, 13n, 14n, 20n, 27n, 31n, 34n, 62n, 63n].map((bits) => 1n << bits);
  const values = edges.flatMap((edge) => [edge - 1n, edge, -edge, -edge - 1n]);
  for (const value of [0n, ...values]) {
    const wide = BigInt.asIntN(64, value);
    assert.deepEqual(written((out) => out.s64(wide)), leb(wide), String(wide)); // prettier-ignore
    const narrow = BigInt.asIntN(32, value);
    assert.deepEqual(written((out) => out.s32(Number(narrow))), leb(narrow), String(narrow)); // prettier-ignore
  }
});

test('names are UTF-8 with their length in bytes', () => {
  assert.deepEqual(written((out) => out.name('é1')), [3, 0xc3, 0xa9, 0x31]); // prettier-ignore
});
