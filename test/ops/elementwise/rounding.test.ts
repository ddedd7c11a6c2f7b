import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import type { Element } from '../../../src/base/element.js';
import * as kn from '../../../src/index.js';
import { cast } from '../../../src/ops/index.js';
import { evaluate } from '../../support/evaluate.js';
import { hardFloats, hardIntegers } from '../../support/hard-to-round.js';
import { rounded } from '../../support/rounding.js';
import { canCompile, withTier } from '../../runtime/native/support.js';
import { elements, vector } from './support.js';

/** Conversions round once: against rounding in integers of any length. */

const narrow = ['float16', 'bfloat16'] as const;
type To = Parameters<typeof rounded>[0];

const small = hardIntegers().filter((value) => BigInt.asIntN(32, value) === value);
const cases: readonly (readonly [DType, readonly To[], readonly (number | bigint)[]])[] = [
  ['float64', [...narrow, 'float32'], hardFloats()],
  ['float32', narrow, hardFloats().map(Math.fround)],
  ['int64', [...narrow, 'float32'], hardIntegers()],
  ['int32', [...narrow, 'float32'], small.map(Number)],
];

function check(found: readonly Element[], given: readonly (number | bigint)[], to: To): void {
  assert.equal(found.length, given.length);
  given.forEach((value, i) => {
    const wanted = rounded(to, value);
    assert.ok(Object.is(found[i], wanted), `${value} to ${to}: ${String(found[i])} instead of ${wanted}`); // prettier-ignore
  });
}

/** The elements as numbers that `Object.is` can tell apart. */
const read = (array: kn.NDArray): number[] =>
  Array.from(array.astype('float64').dataSync(), Number);

test('the reference itself: cases worked out by hand', () => {
  assert.equal(rounded('float16', 1 + 2 ** -11), 1);
  assert.equal(rounded('float16', 1 + 3 * 2 ** -11), 1 + 2 ** -9);
  assert.equal(rounded('float16', 1 + 2 ** -11 + 2 ** -40), 1 + 2 ** -10);
  assert.equal(rounded('float16', 65520), Infinity);
  assert.equal(rounded('float16', 65520 * (1 - 2 ** -50)), 65504);
  assert.equal(rounded('float16', 2 ** -25), 0);
  assert.equal(rounded('float16', 2 ** -25 + 2 ** -70), 2 ** -24);
  assert.equal(rounded('bfloat16', 257n), 256);
  assert.equal(rounded('bfloat16', 2n ** 62n + 2n ** 54n + 1n), 2 ** 62 + 2 ** 55);
  assert.equal(rounded('float32', 2n ** 60n + 2n ** 36n + 1n), 2 ** 60 + 2 ** 37);
  assert.ok(Object.is(rounded('bfloat16', -1e-300), -0));
  for (const value of hardFloats()) assert.ok(Object.is(rounded('float32', value), Math.fround(value)), String(value)); // prettier-ignore
}); // prettier-ignore

for (const [from, targets, given] of cases) {
  for (const to of targets) {
    test(`${from} to ${to}: the interpreter and wasm, vectors and rests`, () => {
      for (const target of ['interpreter', 'wasm'] as const) {
        for (const values of [given, given.slice(0, 3)]) {
          const [result] = evaluate([vector(from, values)], (x) => cast(x, to), target);
          check(elements(result), values, to);
        }
      }
    });

    test(`${from} to ${to}: eagerly, captured, of captured constants, and between fused operators`, () => {
      const x = kn.array([...given] as number[], { dtype: from });
      check(read(x.astype(to)), given, to);
      check(read(kn.hybridize((y: kn.NDArray) => y.astype(to).neg().neg())(x)), given, to);
      const constant = kn.hybridize(() => kn.array([...given] as number[], { dtype: from }).astype(to));
      check(read(constant()), given, to);
    }); // prettier-ignore

    test(`${from} to ${to}: ${canCompile ? 'native code' : 'what runs where none can be made'}`, () => {
      withTier({}, () => {
        const x = kn.array([...given] as number[], { dtype: from });
        const native = kn.hybridize((y: kn.NDArray) => y.astype(to), { tier: 'native', verify: 'off' }); // prettier-ignore
        for (let run = 0; run < 2; run++) check(read(native(x)), given, to);
        const [{ tiers }] = native.explain().traces;
        if (canCompile) assert.deepEqual(tiers.map(({ tier }) => tier), ['native']);
      });
    }); // prettier-ignore
  }
}

test('numbers and bigints become elements of arrays, and fill them', () => {
  for (const to of [...narrow, 'float32'] as const) {
    const floats = hardFloats();
    check(read(kn.array(floats, { dtype: to })), floats, to);
    const integers = hardIntegers();
    check(read(kn.array(integers, { dtype: to })), integers, to);
    const great = [2n ** 100n + 2n ** 76n + 1n, 2n ** 100n + 2n ** 92n + 1n, -(2n ** 90n) - 1n];
    check(read(kn.array(great, { dtype: to })), great, to);
    check(read(kn.array(Float64Array.from(floats), { dtype: to })), floats, to);
  }
  for (const to of narrow) {
    for (const value of [1 + 2 ** -11 + 2 ** -40, 1 + 2 ** -8 + 2 ** -40]) {
      check(read(kn.full([2], value, { dtype: to })), [value, value], to);
      check(read(kn.pad(kn.zeros([1], { dtype: to }), 1, { value })), [value, 0, value], to);
      check(read(kn.array(0, { dtype: to }).add(value).reshape([1])), [value], to);
      check(read(kn.arange(value, value + 2, 1, { dtype: to })), [value, value + 1], to);
      const captured = kn.hybridize((x: kn.NDArray) => x.add(value));
      check(read(captured(kn.zeros([1], { dtype: to }))), [value], to);
    }
  }
});
