import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Interner,
  isSameOperation,
  operationCode,
  operationHash,
} from '../../../src/loop/analysis/intern.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Scalar } from '../../../src/loop/language/nodes.js';
import { binaryOps, unaryOps } from '../../../src/loop/language/scalar.js';

const scalars: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64', 'bool'];
const unary = new Set(scalars.flatMap((scalar) => [...unaryOps[scalar]]));
const binary = new Set(scalars.flatMap((scalar) => [...binaryOps[scalar]]));
const lanes = [1, 2, 4, 8, 16];

/** One node of every operation and type, whether or not the language has it. */
const nodes: readonly Expr[] = scalars.flatMap((scalar) =>
  lanes.flatMap((count) => {
    const x = e.variable('x', scalar, count);
    const truth = e.variable('truth', 'bool', count);
    const type = e.exprType(scalar, count);
    const index = e.i32(0);
    return [
      x,
      e.constant(scalar, scalar === 'i64' ? 0n : 0, count),
      ...[...unary].map((op): Expr => ({ kind: 'unary', type, op, x })),
      ...[...binary].map((op) => ({ kind: 'binary', type, op, a: x, b: x }) as Expr),
      { kind: 'select', type, condition: truth, a: x, b: x },
      { kind: 'cast', type, x },
      { kind: 'bitcast', type, x },
      { kind: 'load', type, buffer: e.buffer('b', 'f32'), index },
      { kind: 'ramp', type, base: index, stride: index },
      { kind: 'broadcast', type, x: index },
      { kind: 'extract', type, x, lane: 0 },
    ] satisfies Expr[];
  }),
);

test('the codes of two operations or types are never equal', () => {
  const codes = nodes.map(operationCode);
  assert.equal(new Set(codes).size, nodes.length);
  // Below are the codes of statements.
  for (const code of codes) assert.ok(Number.isInteger(code) && code >= 512 && code < 2 ** 20);
});

test('operations that are the same have one hash; those that are not are told apart', () => {
  const others = nodes.filter(({ kind }) => kind !== 'var');
  for (const [k, node] of others.entries()) {
    assert.ok(isSameOperation(node, { ...node }));
    assert.equal(operationHash(node), operationHash({ ...node }));
    for (const other of others.slice(k + 1)) assert.ok(!isSameOperation(node, other));
  }
  const wide = e.variable('wide', 'f32', 4);
  const [first, second] = [e.buffer('b', 'f32'), e.buffer('b', 'f32')];
  for (const [a, b] of [
    [e.constant('f32', 0), e.constant('f32', -0)],
    [e.constant('f32', 1), e.constant('f32', 2)],
    [e.extract(wide, 0), e.extract(wide, 1)],
    [e.load(first, 0), e.load(second, 0)],
    [e.constant('i64', 1n), e.constant('i64', 2n ** 40n + 1n)],
  ] as const) {
    assert.ok(!isSameOperation(a, b));
    const interner = new Interner();
    assert.notEqual(interner.intern(a), interner.intern(b));
  }
  assert.ok(isSameOperation(e.constant('f32', NaN), e.constant('f32', NaN)));
});

test('equal expressions become one object, in any number', () => {
  const interner = new Interner();
  const x = e.variable('x', 'i32');
  const make = (k: number): Expr => e.add(interner.intern(e.mul(interner.intern(e.i32(k)), x)), x);
  const made = Array.from({ length: 3000 }, (_, k) => interner.intern(make(k)));
  assert.equal(new Set(made).size, 3000);
  for (let k = 0; k < 3000; k++) assert.equal(interner.intern(make(k)), made[k]);
});
