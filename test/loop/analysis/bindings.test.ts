import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { copyStmt, separateBindings } from '../../../src/loop/analysis/bindings.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Var } from '../../../src/loop/language/nodes.js';
import { stmtText } from '../../../src/loop/language/text.js';
import { dedent } from '../before-after.js';
import { visitStmts } from '../../../src/loop/language/visit.js';
import { verifyKernel } from '../../../src/loop/language/verify.js';

const o = e.buffer('o', 'i32');
const n = e.variable('n', 'i32');
const t = e.variable('t', 'i32');

function boundIn(stmt: Parameters<typeof visitStmts>[0]): Var[] {
  const bound: Var[] = [];
  visitStmts(stmt, (inner) => {
    if (inner.kind === 'declare' || inner.kind === 'for') bound.push(inner.variable);
  });
  return bound;
}

describe('bindings', () => {
  const loop = e.forLoop('i', 0, n, (i) =>
    e.block(e.declare(t, e.add(i, n)), e.assign(t, e.add(t, 1)), e.store(o, i, t)),
  );

  it('copies bind new variables and replace free ones', () => {
    const copy = copyStmt(loop, new Map<Var, Expr>([[n, e.i32(7)]]));
    assert.ok(boundIn(copy).every((variable) => !boundIn(loop).includes(variable)));
    assert.equal(
      stmtText(copy),
      dedent(`
        for i in 0..7 {
          let t = i + 7
          t = t + 1
          o[i] = t
        }`),
    );
  });

  it('gives each of several bindings of one variable its own', () => {
    const kernel = e.kernel('k', [o, n], e.block(loop, loop));
    const separate = separateBindings(kernel);
    verifyKernel(separate);
    assert.equal(new Set(boundIn(separate.body)).size, 4);
    assert.equal(separateBindings(separate), separate);
  });
});
