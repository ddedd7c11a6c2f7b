import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InternalError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';
import type { Kernel, Stmt } from '../../../src/loop/language/nodes.js';
import { verifyKernel, verifyModule } from '../../../src/loop/language/verify.js';

const o = e.buffer('o', 'i32');
const a = e.variable('a', 'i32');
const i = e.variable('i', 'i32');
const kernel = (...body: Stmt[]): Kernel => e.kernel('k', [o], e.block(...body));
const put = e.store(o, 0, a);

function refuses(broken: Kernel, message: RegExp): void {
  assert.throws(
    () => verifyKernel(broken),
    (error: Error) => error instanceof InternalError && message.test(error.message),
  );
}

describe('verify', () => {
  it('accepts one variable in disjoint scopes', () => {
    const scope = e.block(e.declare(a, e.i32(1)), put);
    verifyKernel(
      kernel(
        scope,
        scope,
        e.forLoop('j', 0, 3, () => scope),
      ),
    );
  });

  it('refuses reads and assignments outside the scope of a variable', () => {
    refuses(kernel(put), /a is read outside its scope/);
    refuses(kernel(e.block(e.declare(a, e.i32(1)), put), put), /outside its scope/);
    refuses(kernel(e.ifThen(e.eq(e.i32(1), 1), e.declare(a, e.i32(1))), put), /outside/);
    refuses(kernel(e.assign(a, e.i32(1))), /a is assigned, but is no local/);
    refuses(kernel(e.declare(a, e.add(a, 1))), /a is read outside/);
  });

  it('refuses a second binding inside a scope, and assignments to loop variables', () => {
    refuses(kernel(e.declare(a, e.i32(1)), e.declare(a, e.i32(2))), /bound inside its own scope/);
    refuses(kernel(e.forLoop('j', 0, 2, (j) => e.assign(j, e.i32(1)))), /j is assigned/);
    const loop = e.forLoop('i', 0, 2, () => e.block());
    const outer = { ...loop, variable: i, body: { ...loop, variable: i } };
    refuses(kernel(outer), /i is bound inside/);
  });

  it('refuses buffers that are not parameters', () => {
    refuses(kernel(e.store(e.buffer('p', 'f32'), 0, e.constant('f32', 1))), /p is not a parameter/);
    refuses(kernel(e.barrier(e.buffer('p', 'i32'), 0, 2)), /p is not a parameter/);
    refuses(kernel(e.store(o, 0, e.load(e.buffer('q', 'u8'), 0))), /q is not a parameter/);
    refuses(e.kernel('k', [o, o], e.block()), /listed twice/);
  });

  it('refuses wrong types in statements and lanes that do not fit', () => {
    const loop = e.forLoop('j', 0, 2, () => put);
    refuses(kernel({ ...loop, end: e.constant('f32', 1) }), /a bound is f32x1/);
    refuses(kernel({ ...loop, step: 0 }), /step 0/);
    refuses(kernel({ ...e.declare(a, e.i32(1)), value: e.constant('f32', 1) }), /a is f32x1/);
    refuses(
      kernel({ kind: 'if', condition: e.i32(1), consequent: put, alternate: null }),
      /a condition/,
    );
    const vector = e.constant('i32', 1, 4);
    refuses(kernel({ kind: 'store', buffer: o, index: e.i32(0), value: vector }), /4 lanes, not 1/);
    refuses(
      kernel(e.store(o, 0, { kind: 'unary', type: e.exprType('i32'), op: 'neg', x: vector })),
      /an operand has 4 lanes/,
    );
    refuses(
      kernel(
        e.store(o, 0, { kind: 'cast', type: e.exprType('i32', 1), x: e.broadcast(e.i32(1), 2) }),
      ),
      /operand has 2/,
    );
  });

  it('refuses modules whose calls go down or whose names repeat', () => {
    const callee = e.kernel('callee', [], e.block());
    const caller = e.kernel('caller', [], e.call(callee, []));
    verifyModule(e.moduleOf([callee, caller]));
    assert.throws(() => verifyModule(e.moduleOf([caller, callee])), /calls callee/);
    assert.throws(() => verifyModule(e.moduleOf([callee, callee])), /two kernels callee/);
  });
});
