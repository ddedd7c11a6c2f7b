import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accumulationOf } from '../../../src/loop/language/accumulation.js';
import * as e from '../../../src/loop/language/build.js';
import type { Scalar } from '../../../src/loop/language/nodes.js';

const locals = (scalar: Scalar) =>
  ['sum', 'other', 'x', 'y'].map((name) => e.variable(name, scalar));

test('a product that is added to the variable it is assigned to is an accumulation', () => {
  for (const scalar of ['f32', 'f64'] as const) {
    const [sum, other, x, y] = locals(scalar);
    const product = e.mul(x, y);
    for (const value of [e.add(sum, product), e.add(product, sum)]) {
      const found = accumulationOf(e.assign(sum, value));
      assert.deepEqual([found?.a, found?.b], [x, y]);
    }
    for (const value of [
      e.add(other, product),
      e.add(product, other),
      e.sub(sum, product),
      e.add(sum, x),
      e.add(x, sum),
      e.mul(sum, product),
      e.add(sum, e.add(x, y)),
      product,
      sum,
    ]) {
      assert.equal(accumulationOf(e.assign(sum, value)), null);
    }
  }
});

test('a product is one even of the variable itself, and vectors accumulate as well', () => {
  const [sum, , x] = locals('f32');
  const squared = accumulationOf(e.assign(sum, e.add(sum, e.mul(sum, x))));
  assert.deepEqual([squared?.a, squared?.b], [sum, x]);
  const [wide, y] = ['wide', 'y'].map((name) => e.variable(name, 'f32', 4));
  assert.ok(accumulationOf(e.assign(wide, e.add(wide, e.mul(y, y)))) !== null);
});

test('whole numbers have none: nothing of theirs rounds', () => {
  for (const scalar of ['i32', 'i64'] as const) {
    const [sum, , x, y] = locals(scalar);
    assert.equal(accumulationOf(e.assign(sum, e.add(sum, e.mul(x, y)))), null);
  }
});
