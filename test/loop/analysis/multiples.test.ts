import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Multiples } from '../../../src/loop/analysis/multiples.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Stmt } from '../../../src/loop/language/nodes.js';

const n = e.variable('n', 'i32');
const local = e.variable('local', 'i32');
const assigned = e.variable('assigned', 'i32');
const loop = e.variable('i', 'i32');

/** A loop from 8 in steps of 4, a local that is `12 * n`, and another that changes. */
const body: Stmt = e.block(
  e.declare(local, e.mul(n, 12)),
  e.declare(assigned, e.i32(64)),
  e.assign(assigned, n),
  { kind: 'for', variable: loop, begin: e.i32(8), end: n, step: 4, mode: 'serial', body: e.block() },
); // prettier-ignore

const cases: readonly (readonly [name: string, expr: Expr, multiple: number])[] = [
  ['0', e.i32(0), 64],
  ['a negative number', e.i32(-24), 8],
  ['the least number', e.i32(-(2 ** 31)), 64],
  ['an odd number', e.i32(7), 1],
  ['a parameter', n, 1],
  ['a local', local, 4],
  ['a local that changes', assigned, 1],
  ['a loop variable', loop, 4],
  ['a sum', e.add(e.mul(n, 16), 4), 4],
  ['a difference', e.sub(local, loop), 4],
  ['a product', e.mul(local, loop), 16],
  ['a shift', e.shl(n, 3), 8],
  ['a shift to the right', e.shr(local, 1), 1],
  ['a mask', e.and(n, -4), 4],
  ['a remainder', e.rem(local, 10), 2],
  ['a quotient', e.div(local, 2), 1],
  ['the lesser of two', e.min(local, e.i32(6)), 2],
  ['a choice', e.select(e.lt(n, 3), local, loop), 4],
  ['a negation', e.neg(local), 4],
  ['the complement', e.not(local), 1],
  ['a float', e.constant('f32', 4), 1],
];

for (const [name, expr, multiple] of cases) {
  test(`the power of two that divides ${name}`, () => {
    assert.equal(new Multiples(body).of(expr), multiple);
  });
}

test('a variable of two loops is a multiple of what both have', () => {
  const again = { kind: 'for', variable: loop, begin: e.i32(2), end: n, step: 4, mode: 'serial', body: e.block() } as const; // prettier-ignore
  assert.equal(new Multiples(e.block(body, again)).of(loop), 2);
});
