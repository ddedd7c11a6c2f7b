import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InternalError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';

const [x, n] = [e.variable('x', 'f32'), e.variable('n', 'i32')];
const wide = e.variable('wide', 'f32', 4);
const truth = e.eq(n, 0);
const data = e.buffer('data', 'f32');
const meeting = e.buffer('meeting', 'i32');
const lanes = e.variable('lanes', 'i32', 4);
const nothing = e.block();
const callee = e.kernel('callee', [data, n], nothing);

test('nodes that mean nothing cannot be made', () => {
  const wrong: Readonly<Record<string, () => unknown>> = {
    'lanes of other lanes': () => e.broadcast(wide, 8),
    'operands of two types': () => e.add(x, e.variable('y', 'f64')),
    'arithmetic on truth': () => e.add(truth, truth),
    'a lane that is not there': () => e.extract(wide, 4),
    'a lane below zero': () => e.extract(wide, -1),
    'an index of floats': () => e.load(data, x),
    'a choice by a number': () => e.select(n, 1, 2),
    'a branch on a number': () => e.ifThen(n, nothing),
    'a branch on a vector': () => e.ifThen(e.eq(wide, 0), nothing),
    'a loop while a number': () => e.whileLoop(n, nothing),
    'a loop of step 0': () => e.forLoop('i', 0, n, () => nothing, { step: 0 }),
    'a loop of half steps': () => e.forLoop('i', 0, n, () => nothing, { step: 0.5 }),
    'a local of another type': () => e.declare(n, x),
    'another type assigned': () => e.assign(x, n),
    'another type stored': () => e.store(data, 0, n),
    'a vector stored to one index': () => e.store(data, n, wide),
    'too few arguments': () => e.call(callee, [n]),
    'too many arguments': () => e.call(callee, [n, n, n]),
    'an argument of another type': () => e.call(callee, [n, x]),
    'an address of another type': () => e.call(callee, [x, n]),
    'a barrier in floats': () => e.barrier(data, n, n),
    'a barrier of vectors': () => e.barrier(meeting, n, lanes),
    'bits of a wider scalar': () => e.bitcast('f64', x),
    'bits of a narrower scalar': () => e.bitcast('i32', e.variable('y', 'f64')),
    'bits as truth': () => e.bitcast('bool', n),
    'bits of truth': () => e.bitcast('i32', truth),
    'two plain numbers': () => e.add(1, 2),
    'a remainder of floats': () => e.rem(x, 2),
    'order of truth': () => e.lt(truth, truth),
    'bits of a float turned': () => e.not(x),
    'a negative truth': () => e.neg(truth),
    'the floor of an integer': () => e.floor(n),
    'a ramp of one lane': () => e.ramp(n, 1, 1),
    'a ramp from a vector': () => e.ramp(lanes, 1, 4),
    'a ramp by a vector': () => e.ramp(n, lanes, 4),
    'a loop from a vector': () => e.forLoop('i', lanes, n, () => nothing),
    'a loop to a vector': () => e.forLoop('i', 0, lanes, () => nothing),
    'a range from a vector': () => e.parallel(lanes, n, 1, () => nothing),
    'a range to a vector': () => e.parallel(0, lanes, 1, () => nothing),
    'a range of half steps': () => e.parallel(0, n, 0.5, () => nothing),
    'a range of step 0': () => e.parallel(0, n, 0, () => nothing),
  };
  for (const [name, make] of Object.entries(wrong)) assert.throws(make, InternalError, name);
});

test('one lane becomes many, and as many as there are stay as they are', () => {
  assert.equal(e.broadcast(wide, 4), wide);
  assert.equal(e.broadcast(x, 1), x);
  const many = e.broadcast(x, 4);
  assert.equal(many.type, wide.type);
  assert.equal(e.extract(x, 0), x);
  assert.throws(() => e.extract(x, 1), InternalError);
});

test('blocks in blocks are one, unless they have locals of their own', () => {
  const [a, b, c] = [0, 1, 2].map((k) => e.store(data, k, x));
  assert.deepEqual(e.block(e.block(a, b), c), e.block(a, b, c));
  assert.equal(e.block(a), a);
  const own = e.block(e.declare(n, e.i32(1)), a);
  const outer = e.block(own, b);
  assert.ok(outer.kind === 'block' && outer.body[0] === own);
});

test('bits of one width are read as another type, and as their own', () => {
  assert.equal(e.bitcast('f32', x), x);
  assert.equal(e.bitcast('bool', truth), truth);
  for (const [scalar, other] of [
    ['f32', 'i32'],
    ['f64', 'i64'],
  ] as const) {
    for (const [from, to] of [
      [scalar, other],
      [other, scalar],
    ] as const) {
      assert.equal(e.bitcast(to, e.variable('y', from, 4)).type, e.exprType(to, 4));
    }
  }
});

test('truth can be compared for equality and turned', () => {
  for (const made of [e.eq(truth, truth), e.ne(truth, truth), e.not(truth), e.xor(truth, truth)]) {
    assert.equal(made.type, e.exprType('bool'));
  }
});
