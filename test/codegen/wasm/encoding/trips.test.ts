import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKnownToRun } from '../../../../src/codegen/wasm/encoding/trips.js';
import * as e from '../../../../src/loop/language/build.js';
import type { Expr, Var } from '../../../../src/loop/language/nodes.js';

test('a loop is known to run where its first index is below every part of its end', () => {
  const [i, j, n] = ['i', 'j', 'n'].map((name) => e.variable(name, 'i32'));
  const ends = new Map<Var, Expr>([
    [i, n],
    [j, e.i32(20)],
  ]);
  const runs = (begin: Expr, end: Expr): boolean => isKnownToRun(begin, end, ends);
  assert.ok(runs(e.i32(0), e.i32(1)));
  assert.ok(runs(i, e.add(i, 8)));
  assert.ok(runs(i, e.min(e.add(i, 8), n)));
  assert.ok(runs(j, e.min(e.add(j, 8), 20)));
  for (const [begin, end] of [
    [e.i32(0), e.i32(0)],
    [e.i32(0), n],
    [n, e.add(n, 8)], // not a loop's
    [i, e.add(i, -8)],
    [i, e.add(j, 8)],
    [i, e.min(e.add(i, 8), e.i32(20))], // the end of another
    [j, e.min(e.add(j, 8), 19)],
    [j, n],
  ]) {
    assert.ok(!runs(begin, end), `${begin.kind} to ${end.kind}`);
  }
});
