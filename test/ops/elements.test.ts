import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fromBFloat16Bits,
  fromFloat16Bits,
  toBFloat16Bits,
  toFloat16Bits,
} from '../../src/base/element.js';
import * as e from '../../src/loop/language/build.js';
import { interpret } from '../../src/loop/interpret/interpret.js';
import type { Expr } from '../../src/loop/language/nodes.js';
import { loadElement, settle, storeElement } from '../../src/ops/elements.js';

const base = 1024;

/** Runs `y[i] = f(x[i])` for all elements. */
function mapBytes(
  from: ReturnType<typeof e.buffer>,
  to: ReturnType<typeof e.buffer>,
  count: number,
  bytes: ArrayBuffer,
  body: (index: Expr) => ReturnType<typeof e.block>,
): void {
  const kernel = e.kernel('map', [from, to], e.forLoop('i', 0, count, body));
  interpret(e.moduleOf([kernel]), bytes, 'map', [base, bytes.byteLength / 2]);
}

for (const [dtype, decode, encode] of [
  ['float16', fromFloat16Bits, toFloat16Bits],
  ['bfloat16', fromBFloat16Bits, toBFloat16Bits],
] as const) {
  test(`every ${dtype} loads as its value`, () => {
    const count = 65536;
    const bytes = new ArrayBuffer(2 * (base + 4 * count));
    new Uint16Array(bytes, base, count).forEach((_, i, all) => (all[i] = i));
    const [from, to] = [e.buffer('x', 'u16'), e.buffer('y', 'f32')];
    mapBytes(from, to, count, bytes, (i) => e.store(to, i, loadElement(dtype, from, i)));
    const values = new Float32Array(bytes, bytes.byteLength / 2, count);
    for (let i = 0; i < count; i++) {
      assert.ok(Object.is(values[i], decode(i)), `bits ${i.toString(16)}`);
    }
  });

  test(`floats are stored as the nearest ${dtype}, and settled to it`, () => {
    const inputs = [
      0,
      -0,
      1,
      65504,
      65519.99,
      65520,
      1e-8,
      5.960464477539063e-8,
      2 ** -25,
      3e38,
      -3e38,
    ];
    inputs.push(
      NaN,
      Infinity,
      -Infinity,
      2 ** -14,
      2 ** -14 - 2 ** -25,
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
    );
    for (let i = 0; i < 4000; i++) inputs.push(Math.sin(i) * 2 ** ((i % 60) - 30));
    const count = inputs.length;
    const bytes = new ArrayBuffer(2 * (base + 4 * count));
    new Float32Array(bytes, base, count).set(inputs);
    const from = e.buffer('x', 'f32');
    const narrow = e.buffer('y', 'u16');
    mapBytes(from, narrow, count, bytes, (i) => storeElement(dtype, narrow, i, e.load(from, i)));
    const stored = [...new Uint16Array(bytes, bytes.byteLength / 2, count)];
    const wide = e.buffer('y', 'f32');
    mapBytes(from, wide, count, bytes, (i) => e.store(wide, i, settle(dtype, e.load(from, i))));
    const settled = [...new Float32Array(bytes, bytes.byteLength / 2, count)];
    inputs.forEach((input, i) => {
      assert.equal(decode(stored[i]), decode(encode(input)), `${input}`);
      assert.ok(Object.is(settled[i], decode(encode(input))), `${input}`);
    });
  });
}

test('narrow integers wrap when they settle', () => {
  const values = [-129, -128, -1, 0, 127, 128, 255, 256, 1000];
  for (const [dtype, Wrapped] of [
    ['int8', Int8Array],
    ['uint8', Uint8Array],
  ] as const) {
    const bytes = new ArrayBuffer(2 * (base + 64));
    new Int32Array(bytes, base, values.length).set(values);
    const [from, to] = [e.buffer('x', 'i32'), e.buffer('y', 'i32')];
    mapBytes(from, to, values.length, bytes, (i) => e.store(to, i, settle(dtype, e.load(from, i))));
    const settled = [...new Int32Array(bytes, bytes.byteLength / 2, values.length)];
    assert.deepEqual(settled, [...new Wrapped(values)]);
  }
});
