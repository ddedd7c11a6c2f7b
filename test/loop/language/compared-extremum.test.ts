import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import { comparedExtremumOf } from '../../../src/loop/language/compared-extremum.js';
import type { Expr, Select } from '../../../src/loop/language/nodes.js';

const select = (condition: Expr, a: Expr, b: Expr): Select => {
  const made = e.select(condition, a, b);
  assert.ok(made.kind === 'select');
  return made;
};

/** What the node says: the second operand where it is beyond the first. */
const meaning = { max: (a: number, b: number) => (a < b ? b : a), min: (a: number, b: number) => (b < a ? b : a) }; // prettier-ignore

test('a selection of one of two compared floats is an extremum, whose first operand is that of pairs without an order', () => {
  const [x, y] = [e.variable('x', 'f32', 4), e.variable('y', 'f32', 4)];
  const values = new Map<Expr, number>();
  let found = 0;
  for (const [compare, holds] of [
    [e.lt, (p: number, q: number) => p < q],
    [e.gt, (p: number, q: number) => p > q],
  ] as const) {
    for (const [a, b] of [[x, y], [y, x]]) {
      const extremum = comparedExtremumOf(select(compare(x, y), a, b));
      assert.ok(extremum !== null);
      for (const [p, q] of [[1, 2], [2, 1], [0, -0], [-0, 0], [NaN, 1], [1, NaN]]) {
        values.set(x, p).set(y, q);
        const expected = values.get(holds(p, q) ? a : b);
        const result = meaning[extremum.op](values.get(extremum.a)!, values.get(extremum.b)!);
        assert.ok(Object.is(result, expected), `${extremum.op} of ${p} and ${q}`);
        found++;
      }
    }
  }
  assert.equal(found, 24);
}); // prettier-ignore

test('other selections are none: other comparisons, other operands, and integers', () => {
  const [x, y, z] = ['x', 'y', 'z'].map((name) => e.variable(name, 'f64'));
  const [i, k] = ['i', 'k'].map((name) => e.variable(name, 'i32'));
  for (const other of [
    select(e.le(x, y), x, y),
    select(e.eq(x, y), x, y),
    select(e.lt(x, y), x, z),
    select(e.lt(x, z), x, y),
    select(e.lt(i, k), i, k),
    select(e.lt(i, k), x, y),
  ]) {
    assert.equal(comparedExtremumOf(other), null);
  }
});
