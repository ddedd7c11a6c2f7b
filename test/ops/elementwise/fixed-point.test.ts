import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import * as fixed from '../../../src/ops/elementwise/expressions/fixed-point.js';
import { generator } from '../../support/samples.js';
import { computed } from './integer-support.js';

/* Integers of 32 and 64 bits against BigInt. */

const top = 2n ** 32n;

const random = generator(4);
const word = (): bigint =>
  BigInt(Math.floor(random() * 2 ** 32)) >> BigInt(Math.floor(random() * 3) * 8);
const edges = [0n, 1n, 0xffffn, 0x10000n, 2n ** 31n - 1n, 2n ** 31n, top - 1n];
const pairs = [
  ...edges.flatMap((a) => edges.map((b) => [a, b] as const)),
  ...Array.from({ length: 300 }, () => [word(), word()] as const),
];

test('products have 64 bits, or are rounded to the upper 32', () => {
  for (const [a, b] of pairs) {
    const [high, low, rounded] = computed([a, b], ([x, y]) => {
      const product = fixed.wideProduct(x, y);
      return [product.high, product.low, fixed.fractionProduct(x, y)];
    });
    assert.equal(high * top + low, a * b, `${a} * ${b}`);
    assert.equal(rounded, (a * b + top / 2n) / top, `${a} * ${b}`);
  }
});

test('borrows are those of unsigned differences', () => {
  for (const [a, b] of pairs) {
    assert.deepEqual(computed([a, b], ([x, y]) => [fixed.borrowOf(x, y)]), [a < b ? 1n : 0n]);
  }
}); // prettier-ignore

const signed = (x: bigint): bigint => BigInt.asIntN(32, x);
const joined = ([high, low]: readonly bigint[]): bigint => high * top + low;

test('products of integers with signs have 64 bits', () => {
  for (const [a, b] of pairs) {
    const found = computed([a, b], ([x, y]) => {
      const { high, low } = fixed.signedProduct(x, y);
      return [high, low];
    });
    assert.equal(BigInt.asIntN(64, joined(found)), signed(a) * signed(b), `${a} * ${b}`);
  }
});

test('shifts of any length, and of leading bits that are anywhere', () => {
  for (const [k, [high, low]] of pairs.entries()) {
    const count = BigInt((k * 5) % 90);
    const x = high * top + low;
    const found = computed([high, low, count], ([h, l, n]) => {
      const shifted = fixed.shiftedFar({ high: h, low: l }, n);
      const { high, low, scale } = fixed.normalizedFar({ high: h, low: l }, n);
      return [shifted.high, shifted.low, high, low, scale];
    });
    assert.equal(joined(found), x >> count, `${x} >> ${count}`);
    if (x === 0n) continue;
    const zeros = BigInt(64 - x.toString(2).length);
    assert.deepEqual([joined(found.slice(2)), found[4]], [x << zeros, count + zeros], String(x));
  }
});

test('sums of magnitudes with signs are exact but for their last bits', () => {
  for (const [k, [a, b]] of pairs.entries()) {
    const [c, d] = pairs[(k * 7 + 3) % pairs.length];
    const [x, y] = [joined([a | (2n ** 31n), b]), joined([c | (2n ** 31n), d])];
    const [i, j] = [(k * 5) % 50, (k * 11) % 50];
    const masks = [k, k >> 1].map((each) => (each % 2 === 0 ? 0n : top - 1n));
    const given = [x >> 32n, x % top, y >> 32n, y % top, ...masks];
    const [high, low, scale, mask] = computed(given, ([xh, xl, yh, yl, xm, ym]) => {
      const sum = fixed.signedSum(
        { high: xh, low: xl, scale: e.i32(i), mask: xm },
        { high: yh, low: yl, scale: e.i32(j), mask: ym },
      );
      return [sum.high, sum.low, sum.scale, sum.mask];
    });
    // In units of 2^-200.
    const exact = [x << BigInt(200 - i), y << BigInt(200 - j)]
      .map((each, m) => (masks[m] === 0n ? each : -each))
      .reduce((p, q) => p + q);
    const found = joined([high, low]) << (200n - signed(scale));
    const off = (mask === 0n ? found : -found) - exact;
    const unit = 1n << BigInt(200 + 2 - Math.min(i, j));
    assert.ok(off < unit && -off < unit, `${x} 2^-${i}, ${y} 2^-${j}`);
  }
});

test('floats are rounded once at all sizes', () => {
  const highs = [2n ** 31n, top - 1n, ...pairs.slice(0, 120).map(([a]) => a | (2n ** 31n))];
  for (const [k, high] of highs.entries()) {
    for (const scale of [
      -97,
      -96,
      37,
      158,
      157 + 22,
      157 + 23,
      157 + 24,
      157 + 25,
      150 + (k % 40),
    ]) {
      const [bits] = computed([high, BigInt(scale)], ([x, n]) => [
        e.bitcast('i32', fixed.roundedFloat({ high: x, low: e.i32(0), scale: n }, e.i32(0))),
      ]);
      const found = new Float32Array(new Uint32Array([Number(bits)]).buffer)[0];
      const exact = Number(high) * 2 ** -scale;
      // Ties may go away from zero.
      const sizes = [exact, exact * (1 + 2 ** -40)].map(Math.fround);
      assert.ok(sizes.includes(found), `${high} 2^-${scale}: ${found}, not ${sizes[0]}`);
    }
  }
});

test('sums, negatives and shifts of 64 bits are those of whole numbers', () => {
  const wrapped = (x: bigint): bigint => BigInt.asUintN(64, x);
  for (const [k, [a, b]] of pairs.entries()) {
    const [c, d] = pairs[(k * 7 + 3) % pairs.length];
    const [x, y, count] = [a * top + b, c * top + d, BigInt((k % 31) + 1)];
    const mask = k % 2 === 0 ? 0n : top - 1n;
    const found = computed([a, b, c, d, mask, count], ([xh, xl, yh, yl, m, n]) => {
      const results = [
        fixed.wideSum({ high: xh, low: xl }, { high: yh, low: yl }),
        fixed.negatedWhere(m, { high: xh, low: xl }),
        fixed.shiftedDown({ high: xh, low: xl }, n),
      ];
      return results.flatMap(({ high, low }) => [high, low]);
    });
    const wanted = [wrapped(x + y), mask === 0n ? x : wrapped(-x), x >> count];
    assert.deepEqual(
      found,
      wanted.flatMap((each) => [each >> 32n, each % top]),
      `${x}, ${y}, ${count}`,
    );
  }
});

test('leading zeros are counted and shifted away', () => {
  const numbers = Array.from({ length: 31 }, (_, k) => [1n << BigInt(k), (1n << BigInt(k + 1)) - 1n, ((2n << BigInt(k)) / 3n) | 1n]).flat(); // prettier-ignore
  for (const high of numbers) {
    const low = word();
    const [zeros, shifted] = computed([high, low], ([x, y]) => {
      const count = fixed.leadingZeros(x);
      return [count, fixed.shiftedUp({ high: x, low: y }, count)];
    });
    assert.equal(zeros, BigInt(32 - high.toString(2).length), String(high));
    assert.equal(shifted, ((high * top + low) << zeros) / top, String(high));
  }
});

test('quotients are off by less than two units of 32 digits', () => {
  const normal = pairs.map((pair) => pair.map((x) => x | (2n ** 31n)) as [bigint, bigint]);
  for (const [a, b] of normal) {
    const [high, low, scale] = computed([a, b], ([x, y]) => {
      const result = fixed.quotient(
        { high: x, low: e.i32(0), scale: e.i32(40) },
        { high: y, low: e.i32(0), scale: e.i32(35) },
      );
      return [result.high, result.low, result.scale];
    });
    assert.ok(high >= 2n ** 31n, `${a} / ${b}`);
    // a 2^-40 / (b 2^-35) in units of 2^-(scale + 32)
    const exact = (a << (scale + 32n - 5n)) / b;
    const off = high * top + low - exact;
    assert.ok(off < 2n * top && off > -2n * top, `${a} / ${b}: ${off}`);
  }
});

test('floats are rounded once, and numbers that round up to a power of two are that', () => {
  for (const high of [2n ** 31n, top - 1n, ...pairs.map(([a]) => a | (2n ** 31n))]) {
    for (const sign of [0n, 2n ** 31n]) {
      const [bits] = computed([high, sign], ([x, y]) => [
        e.bitcast('i32', fixed.floatOf({ high: x, low: e.i32(0), scale: e.i32(37) }, y)),
      ]);
      const found = new Float32Array(new Uint32Array([Number(bits)]).buffer)[0];
      // Ties may go away from zero.
      const size = Math.fround((Number(high) + ((high & 255n) === 128n ? 1 : 0)) * 2 ** -37);
      assert.equal(found, sign === 0n ? size : -size, String(high));
    }
  }
});
