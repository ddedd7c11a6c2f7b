import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../src/loop/language/nodes.js';
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

describe('mapStmt', () => {
  const y = e.buffer('y', 'f32');
  const meeting = e.buffer('meeting', 'i32');
  const value = e.variable('value', 'f32');
  const callee = e.kernel('callee', [x, i], e.block());
  const store = e.store(x, i, e.load(y, j));
  const statements: Readonly<Record<string, Stmt>> = {
    block: e.block(store, e.assign(value, e.load(x, i))),
    for: e.forLoop('k', i, j, () => store, { step: 2, mode: 'vector' }),
    parallel: e.parallel(i, j, 4, () => store),
    while: e.whileLoop(e.lt(i, j), store),
    if: e.ifThen(e.lt(i, j), store),
    'if and else': e.ifThen(e.lt(i, j), store, e.assign(value, e.load(x, i))),
    declare: e.declare(value, e.load(x, i)),
    assign: e.assign(value, e.load(x, i)),
    store,
    call: e.call(callee, [i, j]),
    barrier: e.barrier(meeting, i, j),
  };

  /** Another expression of the same type. */
  const other = (expr: Expr): Expr => (expr.type.scalar === 'bool' ? e.not(expr) : e.add(expr, 1));
  const variablesOf = (stmt: Stmt): readonly Var[] => {
    const found: Var[] = [];
    visit.mapStmt(stmt, { variable: (variable) => (found.push(variable), variable) });
    return found;
  };

  for (const [name, stmt] of Object.entries(statements)) {
    it(`gives a ${name} back where nothing changes`, () => {
      assert.equal(visit.mapStmt(stmt, {}), stmt);
      const seen: Expr[] = [];
      const mapper = { expr: (each: Expr) => (seen.push(each), each), stmt: (each: Stmt) => each };
      assert.equal(visit.mapStmt(stmt, mapper), stmt);
      assert.deepEqual(new Set(seen), new Set(visit.ownExprs(stmt)));
    });

    it(`replaces each part of a ${name} and no other`, () => {
      const [exprs, inside] = [visit.ownExprs(stmt), visit.ownStmts(stmt)];
      for (const [k, expr] of exprs.entries()) {
        const changed = other(expr);
        const made = visit.mapStmt(stmt, { expr: (each) => (each === expr ? changed : each) });
        assert.deepEqual(
          visit.ownExprs(made),
          exprs.map((each) => (each === expr ? changed : each)),
        );
        assert.equal(visit.ownExprs(made)[k], changed);
        assert.deepEqual(visit.ownStmts(made), inside);
      }
      for (const part of inside) {
        const changed = e.block(e.assign(value, e.load(y, i)), part);
        const made = visit.mapStmt(stmt, { stmt: (each) => (each === part ? changed : each) });
        assert.notEqual(made, stmt);
        assert.deepEqual(visit.ownExprs(made), exprs);
        if (stmt.kind !== 'block') {
          assert.deepEqual(
            visit.ownStmts(made),
            inside.map((each) => (each === part ? changed : each)),
          );
        }
      }
      for (const bound of variablesOf(stmt)) {
        const changed = e.variable('changed', bound.type.scalar);
        const mapper = { variable: (each: Var) => (each === bound ? changed : each) };
        const made = visit.mapStmt(stmt, mapper);
        assert.equal(made.kind, stmt.kind);
        assert.deepEqual(variablesOf(made), variablesOf(stmt).map(mapper.variable));
        assert.deepEqual(visit.ownExprs(made), exprs);
      }
    });
  }

  it('keeps the step and the mode of a loop, the step of a range and the kernel of a call', () => {
    const expr = (each: Expr): Expr => other(each);
    const loop = visit.mapStmt(statements['for'], { expr });
    assert.ok(loop.kind === 'for' && loop.step === 2 && loop.mode === 'vector');
    const range = visit.mapStmt(statements['parallel'], { expr });
    assert.ok(range.kind === 'parallel' && range.step === 4);
    const call = visit.mapStmt(statements['call'], { expr });
    assert.ok(call.kind === 'call' && call.kernel === callee);
    const barrier = visit.mapStmt(statements['barrier'], { expr });
    assert.ok(barrier.kind === 'barrier' && barrier.meeting === meeting);
  });

  it('binds variables of a loop, of a range, of a declaration and of an assignment', () => {
    const counts = Object.entries(statements).map(([name, stmt]) => [
      name,
      variablesOf(stmt).length,
    ]);
    assert.deepEqual(Object.fromEntries(counts), {
      block: 0,
      for: 1,
      parallel: 2,
      while: 0,
      if: 0,
      'if and else': 0,
      declare: 1,
      assign: 1,
      store: 0,
      call: 0,
      barrier: 0,
    });
  });
});
