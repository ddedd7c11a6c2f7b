import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import * as e from '../../../src/loop/language/build.js';
import { fastTwoSum } from '../../../src/loop/language/compensation.js';

const [from, to] = ['from', 'to'].map((name) => e.buffer(name, 'f32'));
const [a, b] = ['a', 'b'].map((name) => e.variable(name, 'f32'));
const { sum, error } = fastTwoSum(a, b);
const kernel = e.kernel(
  'sum',
  [from, to],
  e.block(
    e.declare(a, e.load(from, 0)),
    e.declare(b, e.load(from, 1)),
    e.store(to, 0, sum),
    e.store(to, 1, error),
  ),
);

/** The sum of two float32 numbers and its error, as the loop IR computes them. */
function summed(x: number, y: number): readonly [sum: number, error: number] {
  const bytes = new ArrayBuffer(16);
  const view = new Float32Array(bytes);
  view.set([x, y]);
  interpret(e.moduleOf([kernel]), bytes, 'sum', [0, 8]);
  return [view[2], view[3]];
}

/** Float32 numbers of exponents that float64 can add exactly. */
const float = fc
  .tuple(fc.integer({ min: -(2 ** 23), max: 2 ** 23 }), fc.integer({ min: -12, max: 12 }))
  .map(([mantissa, exponent]) => Math.fround(mantissa * 2 ** exponent));

test('a sum and its error are exact together, where the first operand is not the smaller', () => {
  let inexact = 0;
  fc.assert(
    fc.property(float, float, (x, y) => {
      const [large, small] = Math.abs(x) >= Math.abs(y) ? [x, y] : [y, x];
      const [sum, error] = summed(large, small);
      assert.equal(sum, Math.fround(large + small));
      // In float64 the sum of these is exact.
      assert.equal(sum + error, large + small);
      if (error !== 0) inexact++;
    }),
    { seed: 3, numRuns: 500 },
  );
  assert.ok(inexact > 100);
});

test('infinities and NaN have no error', () => {
  for (const [x, y] of [[Infinity, 1], [1, -Infinity], [Infinity, -Infinity], [NaN, 1], [1, NaN]]) {
    const [sum, error] = summed(x, y);
    assert.ok(Object.is(sum, x + y));
    assert.equal(error, 0);
  } // prettier-ignore
  const most = Math.fround(3.4e38);
  assert.deepEqual(summed(most, most), [Infinity, 0]);
});
