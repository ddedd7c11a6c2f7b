import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exp } from '../../../src/ops/index.js';
import { boundedExp } from '../../../src/ops/elementwise/bounded-exp.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { evaluate } from '../../support/evaluate.js';
import { elements, vector } from './support.js';

/** Where e^x is 0, denormal and normal, in steps that meet many fractions. */
const arguments_ = {
  float32: [-Infinity, -1e30, -1e-30, -0, 0, NaN, ...Array.from({ length: 6000 }, (_, k) => 40 - k * 0.0257)],
  float64: [-Infinity, -1e300, -1e-300, -0, 0, NaN, ...Array.from({ length: 6000 }, (_, k) => 40 - k * 0.1337)],
}; // prettier-ignore

test('is the exponential of bounded arguments, denormal results included', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const x = vector(dtype, arguments_[dtype]);
    const [of, general] = [boundedExp, exp].map((f) => elements(evaluate([x], (v) => f(v))[0]));
    assert.deepEqual(of, general);
    assert.equal(of.filter(Number.isNaN).length, 1);
  }
});

test('NaN with any bits stays NaN: the power of two is taken from bits', () => {
  const bits = Int32Array.from(
    { length: 64 },
    (_, k) => 0x7fc00000 | (k * 0x11f1) | ((k % 2) << 31),
  );
  const storage = new Storage('float32', new Float32Array(bits.buffer));
  const x = { storage, shape: [bits.length] };
  for (const f of [boundedExp, exp]) {
    const [y] = evaluate([x], (v) => f(v));
    assert.ok(elements(y).every(Number.isNaN));
  }
});

test('float32 is within an ulp where the exponential is off by most', () => {
  // Found among all arguments: 0.994 ulp at the first.
  const worst = [70.4012375, 70.3958359, -5.85001469, -5.84384871, -59.9246979, 4.50726414, -81.408905]; // prettier-ignore
  const got = elements(evaluate([vector('float32', worst)], (v) => exp(v))[0]).map(Number);
  worst.forEach((x, i) => {
    const exact = Math.exp(Math.fround(x));
    const ulp = 2 ** (Math.floor(Math.log2(exact)) - 23);
    assert.ok(Math.abs(got[i] - exact) <= ulp, `${x}: ${(got[i] - exact) / ulp} ulp`);
  });
});
