import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as e from '../../../../src/loop/language/build.js';
import {
  evaluated,
  polynomialFit,
} from '../../../../src/ops/elementwise/expressions/fixed-polynomial.js';
import { computed } from '../integer-support.js';

const functions: readonly ((t: number) => number)[] = [
  (t) => Math.exp(-t),
  (t) => Math.exp(3 * t),
  (t) => 1 / (3 + t),
  (t) => Math.log(2 + t) / 1000,
  () => 0.75,
];

/** Values of the one of some fits that has a number, at fractions of 2^32. */
function valueAt(fits: Parameters<typeof evaluated>[0], which: number, fraction: number): number {
  const [high, low, scale] = computed([BigInt(fraction), BigInt(which)], ([t, k]) => {
    const choice = (values: readonly (typeof t)[]): typeof t =>
      values.reduce((value, next, i) => e.select(e.eq(k, i), next, value));
    const { value, scale } = evaluated(fits, choice, t);
    return [value.high, value.low, scale];
  });
  const exponent = Number(BigInt.asIntN(32, scale));
  return (Number(high) + Number(low) * 2 ** -32) * 2 ** (-32 - exponent);
}

const fractions = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 1234567890, 3987654321, 7654321];

test('fits that share an evaluation give the functions with 31 digits', () => {
  const fits = functions.map((f) => polynomialFit(f));
  for (const [k, f] of functions.entries()) {
    for (const fraction of fractions) {
      const exact = f(fraction * 2 ** -32);
      const least = Math.min(f(0), f(1));
      const found = valueAt(fits, k, fraction);
      const off =
        Math.abs(found - exact) / (least * (Math.max(f(0), f(1)) / least > 4 ? 2 ** 6 : 1));
      assert.ok(off < 2 ** -31, `function ${k} at ${fraction}: ${found}, not ${exact}`);
    }
  }
});

test('a fit with an error is above a function that reaches zero', () => {
  const f = (t: number): number => t * t * Math.exp(-t);
  const fits = [polynomialFit(f, 2 ** -34)];
  const bound = 2 ** -33 + 2 ** (-31 - fits[0].scale);
  for (const fraction of [...fractions, ...Array.from({ length: 40 }, (_, k) => k * 97 + 2)]) {
    const off = valueAt(fits, 0, fraction) - f(fraction * 2 ** -32);
    assert.ok(off >= 0 && off < bound, `${fraction}: ${off}`);
  }
});

test('coefficients and what they add up to are within the bounds of their words', () => {
  for (const f of functions) {
    const { coefficients, scale } = polynomialFit(f);
    assert.ok(Math.max(f(0), f(1)) * 2 ** scale < 1);
    for (const c of coefficients.slice(1)) assert.ok(Math.abs(c) < 0.5, String(coefficients));
  }
});
