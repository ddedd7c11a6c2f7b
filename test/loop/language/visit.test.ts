import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Var } from '../../../src/loop/language/nodes.js';
import * as visit from '../../../src/loop/language/visit.js';

const i = e.variable('i', 'i32');
const j = e.variable('j', 'i32');
const x = e.buffer('x', 'f32');

describe('visit', () => {
  it('visits a shared sub-expression once, operands first', () => {
    let sum: Expr = i;
    for (let k = 0; k < 40; k++) sum = e.add(sum, sum);
    const seen: Expr[] = [];
    visit.visitExprs([sum, sum], (expr) => seen.push(expr));
    assert.equal(seen.length, 41);
    assert.equal(seen[0], i);
    assert.equal(seen[40], sum);
  });

  it('substitutes without changing what it does not touch, and keeps sharing', () => {
    const kept = e.mul(j, 3);
    const shared = e.add(i, 1);
    const expr = e.add(e.mul(shared, shared), kept);
    const result = visit.substitution(new Map<Var, Expr>([[i, e.i32(5)]]))(expr);
    assert.ok(result.kind === 'binary' && result.a.kind === 'binary');
    assert.equal(result.b, kept);
    assert.equal(result.a.a, result.a.b);
    assert.equal(visit.substitution(new Map([[e.variable('k', 'i32'), i]]))(expr), expr);
  });

  it('broadcasts neighbors when a scalar becomes a vector', () => {
    const load = e.load(x, e.add(e.mul(i, 2), j));
    const expr = e.select(e.lt(i, j), load, e.mul(load, 2));
    const wide = visit.substitution(new Map<Var, Expr>([[i, e.ramp(j, 1, 4)]]))(expr);
    assert.deepEqual(wide.type, { scalar: 'f32', lanes: 4 });
    assert.ok(wide.kind === 'select' && wide.condition.type.lanes === 4);
    const splat = e.broadcast(e.load(x, i), 4);
    const same = visit.substitution(new Map<Var, Expr>([[i, e.ramp(j, 1, 4)]]))(splat);
    assert.equal(same.kind, 'load');
  });

  it('finds the variables that statements assign', () => {
    const local = e.variable('local', 'i32');
    const outside = e.variable('outside', 'f32');
    const body = e.forLoop('k', i, 4, (k) =>
      e.block(
        e.declare(local, e.add(k, j)),
        e.assign(outside, e.load(x, local)),
        e.store(x, k, outside),
      ),
    );
    assert.deepEqual(visit.assignedVariables(body), new Set([outside]));
  });
});
