import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ArgumentError, DeviceError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type { Buffer, Expr, Scalar, ElementKind } from '../../../src/loop/language/nodes.js';

const stored: Readonly<Record<Scalar, ElementKind>> = {
  f32: 'f32',
  f64: 'f64',
  i32: 'i32',
  i64: 'i64',
  bool: 'i32',
};

/** What an expression without variables is worth. */
function valueOf(expr: Expr): number | bigint {
  const out = e.buffer('out', stored[expr.type.scalar]);
  const memory = new ArrayBuffer(8);
  const value = expr.type.scalar === 'bool' ? e.cast('i32', expr) : expr;
  const kernel = e.kernel('k', [out], e.store(out, 0, value));
  interpret(e.moduleOf([kernel]), memory, 'k', [0]);
  switch (out.storage) {
    case 'f32':
      return new Float32Array(memory)[0];
    case 'f64':
      return new Float64Array(memory)[0];
    case 'i64':
      return new BigInt64Array(memory)[0];
    default:
      return new Int32Array(memory)[0];
  }
}

const f32 = (x: number): Expr => e.constant('f32', x);
const f64 = (x: number): Expr => e.constant('f64', x);
const i64 = (x: bigint): Expr => e.constant('i64', x);

describe('interpret', () => {
  it('rounds float32 after every operation', () => {
    assert.equal(valueOf(e.add(f32(2 ** 24), f32(1))), 2 ** 24);
    assert.equal(valueOf(e.add(f64(2 ** 24), f64(1))), 2 ** 24 + 1);
    assert.equal(valueOf(e.div(f32(1), f32(3))), Math.fround(1 / 3));
    assert.equal(valueOf(e.sqrt(f32(2))), Math.fround(Math.SQRT2));
  });

  it('orders signed zeros and propagates NaN in min and max', () => {
    assert.ok(Object.is(valueOf(e.min(f32(0), f32(-0))), -0));
    assert.ok(Object.is(valueOf(e.max(f32(-0), f32(0))), 0));
    assert.ok(Number.isNaN(valueOf(e.min(f64(NaN), f64(1)))));
    assert.ok(Number.isNaN(valueOf(e.max(f32(1), f32(NaN)))));
  });

  it('rounds to nearest with ties to even', () => {
    const cases = [
      [0.5, 0], [1.5, 2], [2.5, 2], [-0.5, -0], [-1.5, -2], [0.49999999999999994, 0],
      [4503599627370495.5, 4503599627370496], [-0, -0], [Infinity, Infinity], [NaN, NaN],
    ]; // prettier-ignore
    for (const [x, want] of cases) assert.ok(Object.is(valueOf(e.nearest(f64(x))), want), `${x}`);
  });

  it('wraps integers', () => {
    assert.equal(valueOf(e.add(e.i32(2 ** 31 - 1), e.i32(1))), -(2 ** 31));
    assert.equal(valueOf(e.mul(e.i32(65537), e.i32(65537))), 131073);
    assert.equal(valueOf(e.neg(e.i32(-(2 ** 31)))), -(2 ** 31));
    assert.equal(valueOf(e.abs(e.i32(-(2 ** 31)))), -(2 ** 31));
    assert.equal(valueOf(e.mul(i64(2n ** 62n), i64(2n))), -(2n ** 63n));
    assert.equal(valueOf(e.abs(i64(-(2n ** 63n)))), -(2n ** 63n));
  });

  it('truncates integer division and takes the sign of the dividend in rem', () => {
    assert.equal(valueOf(e.div(e.i32(-7), e.i32(2))), -3);
    assert.equal(valueOf(e.rem(e.i32(-7), e.i32(2))), -1);
    assert.equal(valueOf(e.div(i64(7n), i64(-2n))), -3n);
    assert.equal(valueOf(e.rem(i64(-7n), i64(2n))), -1n);
  });

  it('takes shift counts modulo the width', () => {
    assert.equal(valueOf(e.shl(e.i32(1), e.i32(33))), 2);
    assert.equal(valueOf(e.shr(e.i32(-8), e.i32(1))), -4);
    assert.equal(valueOf(e.shrU(e.i32(-8), e.i32(1))), 2147483644);
    assert.equal(valueOf(e.shrU(e.i32(-1), e.i32(0))), -1);
    assert.equal(valueOf(e.shrU(i64(-1n), i64(63n))), 1n);
    assert.equal(valueOf(e.shl(i64(1n), i64(65n))), 2n);
  });

  it('saturates casts from float to integer and maps NaN to 0', () => {
    for (const [x, want] of [
      [1e10, 2 ** 31 - 1], [-1e10, -(2 ** 31)], [-1.9, -1], [NaN, 0], [Infinity, 2 ** 31 - 1], [-0.5, 0],
    ]) assert.ok(Object.is(valueOf(e.cast('i32', f64(x))), want)); // prettier-ignore
    assert.equal(valueOf(e.cast('i64', f64(1e30))), 2n ** 63n - 1n);
    assert.equal(valueOf(e.cast('i64', f32(-Infinity))), -(2n ** 63n));
    assert.equal(valueOf(e.cast('i64', f32(NaN))), 0n);
  });

  it('casts between the other kinds', () => {
    assert.equal(valueOf(e.cast('i32', i64(2n ** 32n + 5n))), 5);
    assert.equal(valueOf(e.cast('bool', f32(NaN))), 1);
    assert.equal(valueOf(e.cast('bool', f32(-0))), 0);
    assert.equal(valueOf(e.cast('i64', e.lt(f32(1), f32(2)))), 1n);
    // 2^60 + 2^36 + 1 lies just above the middle of two floats; through float64 it would round down.
    assert.equal(valueOf(e.cast('f32', i64(2n ** 60n + 2n ** 36n + 1n))), 2 ** 60 + 2 ** 37);
    assert.equal(valueOf(e.cast('f32', i64(-(2n ** 60n) - 2n ** 36n - 1n))), -(2 ** 60) - 2 ** 37);
    assert.equal(valueOf(e.cast('f32', i64(2n ** 60n + 2n ** 36n))), 2 ** 60);
  });

  it('keeps the bits in a bitcast', () => {
    assert.equal(valueOf(e.bitcast('i32', f32(-0))), -(2 ** 31));
    assert.equal(valueOf(e.bitcast('f64', i64(0x3ff8000000000000n))), 1.5);
  });

  it('compares NaN like IEEE and works on bool', () => {
    assert.equal(valueOf(e.eq(f32(NaN), f32(NaN))), 0);
    assert.equal(valueOf(e.ne(f32(NaN), f32(NaN))), 1);
    assert.equal(valueOf(e.not(e.xor(e.constant('bool', 1), e.constant('bool', 1)))), 1);
    assert.equal(valueOf(e.select(e.constant('bool', 0), f32(1), f32(2))), 2);
  });

  it('computes vectors lane by lane', () => {
    const x = e.buffer('x', 'u8');
    const out = e.buffer('out', 'i64');
    const memory = new ArrayBuffer(48);
    new Uint8Array(memory).set([200, 1, 2, 3, 255]);
    const lanes = e.load(x, e.ramp(4, -2, 3));
    const picked = e.select(e.gt(lanes, 3), e.mul(lanes, e.extract(lanes, 2)), e.neg(lanes));
    const body = e.store(out, e.ramp(0, 2, 3), e.cast('i64', picked));
    interpret(e.moduleOf([e.kernel('k', [x, out], body)]), memory, 'k', [0, 8]);
    assert.deepEqual([...new BigInt64Array(memory, 8)], [51000n, 0n, -2n, 0n, 40000n]);
  });

  it('runs loops, branches, locals and calls', () => {
    const out = e.buffer('out', 'i32');
    const n = e.variable('n', 'i32');
    const total = e.variable('total', 'i32');
    const triangle = e.kernel(
      'triangle',
      [out, n],
      e.block(
        e.declare(total, e.i32(0)),
        e.forLoop('i', 0, n, (i) => e.assign(total, e.add(total, i)), { step: 2 }),
        e.whileLoop(e.gt(total, 100), e.assign(total, e.sub(total, 100))),
        e.ifThen(e.eq(n, 1), e.store(out, 0, e.i32(-1)), e.store(out, 0, total)),
      ),
    );
    const main = e.kernel(
      'main',
      [],
      e.block(e.call(triangle, [e.i32(0), e.i32(1)]), e.call(triangle, [e.i32(4), e.i32(26)])),
    );
    const memory = new ArrayBuffer(8);
    interpret(e.moduleOf([triangle, main]), memory, 'main', []);
    assert.deepEqual([...new Int32Array(memory)], [-1, 156 - 100]);
  });

  it('evaluates the bounds of a loop once', () => {
    const out = e.buffer('out', 'i32');
    const end = e.variable('end', 'i32');
    const body = e.block(
      e.declare(end, e.i32(3)),
      e.forLoop('i', 0, end, (i) => e.block(e.assign(end, e.i32(0)), e.store(out, i, i))),
    );
    const memory = new Int32Array(4).fill(9);
    interpret(e.moduleOf([e.kernel('k', [out], body)]), memory.buffer, 'k', [0]);
    assert.deepEqual([...memory], [0, 1, 2, 9]);
  });

  it('costs what the DAG costs, not what the tree costs', () => {
    let x: Expr = f64(1);
    for (let i = 0; i < 100; i++) x = e.sub(e.add(x, x), x);
    assert.equal(valueOf(x), 1);
  });

  it('reports accesses outside memory, misaligned addresses and undefined divisions', () => {
    const memory = new ArrayBuffer(16);
    const x: Buffer = e.buffer('x', 'f32');
    const run = (index: number, address: number): void => {
      const copy = e.kernel('copy', [x], e.store(x, 0, e.load(x, index)));
      interpret(e.moduleOf([copy]), memory, 'copy', [address]);
    };
    run(3, 0);
    for (const [index, address] of [
      [4, 0],
      [0, 16],
      [-1, 8],
    ]) {
      assert.throws(() => run(index, address), (error: Error) =>
        error instanceof DeviceError && /kernel copy .* buffer x/.test(error.message)); // prettier-ignore
    }
    assert.throws(() => run(0, 2), /bad address for buffer x/);
    assert.throws(() => valueOf(e.div(e.i32(1), e.i32(0))), DeviceError);
    assert.throws(() => valueOf(e.rem(i64(-(2n ** 63n)), i64(-1n))), /overflows in kernel k/);
  });

  it('refuses unknown kernels and wrong argument counts', () => {
    const module = e.moduleOf([e.kernel('k', [], e.block())]);
    assert.throws(() => interpret(module, new ArrayBuffer(0), 'j', []), ArgumentError);
    assert.throws(() => interpret(module, new ArrayBuffer(0), 'k', [1]), ArgumentError);
  });
});
