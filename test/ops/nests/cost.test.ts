import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evaluateDim, symbol } from '../../../src/base/dim/index.js';
import { ExtentParameters } from '../../../src/loop/language/extents.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import * as e from '../../../src/loop/language/build.js';
import { grainsOf, workOf } from '../../../src/ops/nests/cost.js';

const x = e.buffer('x', 'f32');
const out = e.buffer('out', 'f32');
const wide = e.buffer('wide', 'f64');

/** The cost of a body for a size, in instructions, in grains of so many, or in those that are usual. */
function costAt(
  size: number,
  body: (n: Expr) => ReturnType<typeof e.block>,
  grain: number | null = 1,
  vectorBytes = 16,
): number {
  const extents = new ExtentParameters();
  const made = body(extents.extent(symbol('n')));
  const kernel = e.kernel('k', [x, out, ...extents.params.map(({ param }) => param)], made);
  return evaluateDim(
    grainsOf(kernel, extents, vectorBytes, grain === null ? { threads: 4 } : { threads: 4, grain }),
    new Map([['n', size]]),
  );
}

/** Reads, multiplies and stores: 3 instructions, and 1 of the loop around. */
const scale = (i: Expr): ReturnType<typeof e.store> => e.store(out, i, e.mul(e.load(x, i), 2));

describe('the work of expressions', () => {
  it('counts each distinct operation once, divisions and roots several times', () => {
    const a = e.variable('a', 'f32');
    const product = e.mul(a, a);
    assert.equal(workOf([a, e.i32(7)]), 0);
    assert.equal(workOf([product]), 1);
    assert.equal(workOf([product, e.add(product, product)]), 2);
    assert.equal(workOf([e.div(a, 2)]), 5);
    assert.equal(workOf([e.sqrt(a)]), 5);
    assert.equal(workOf([e.rem(e.variable('i', 'i32'), 3)]), 5);
    assert.equal(workOf([e.neg(a), e.load(x, 0), e.cast('i32', a)]), 3);
    assert.equal(workOf([e.select(e.lt(a, 0), a, 1)]), 2);
    assert.equal(workOf([e.broadcast(a, 4), e.bitcast('i32', a), e.ramp(0, 1, 4)]), 0);
  });
});

describe('the work of a kernel', () => {
  it('is that of a body as often as its loop runs', () => {
    for (const n of [0, 1, 7, 100]) {
      assert.equal(
        costAt(n, (size) => e.block(e.forLoop('i', 0, size, scale))),
        4 * n,
      );
      assert.equal(
        costAt(n, (size) => e.block(e.forLoop('i', 3, size, scale))),
        4 * Math.max(0, n - 3),
      );
      assert.equal(
        costAt(n, (size) => e.block(e.forLoop('i', 0, size, scale, { step: 4 }))),
        4 * Math.ceil(n / 4),
      );
      const nested = (size: Expr) =>
        e.block(e.forLoop('i', 0, size, () => e.forLoop('j', 0, 10, scale)));
      assert.equal(costAt(n, nested), (4 * 10 + 1) * n);
    }
  });

  it('is divided by the lanes of a vector, of the widest scalar in it', () => {
    const vector = (size: Expr) => e.block(e.forLoop('i', 0, size, scale, { mode: 'vector' }));
    for (const n of [0, 1, 4, 5, 100]) {
      assert.equal(costAt(n, vector), 4 * Math.ceil(n / 4));
      assert.equal(costAt(n, vector, 1, 32), 4 * Math.ceil(n / 8));
      const doubles = (size: Expr) =>
        e.block(
          e.forLoop('i', 0, size, (i) => e.store(wide, i, e.constant('f64', 1)), {
            mode: 'vector',
          }),
        );
      assert.equal(costAt(n, doubles), 2 * Math.ceil(n / 2));
      // Computed in the wider type and stored in the narrower one; the casts count, too.
      const both = (size: Expr) =>
        e.block(
          e.forLoop(
            'i',
            0,
            size,
            (i) => e.store(out, i, e.cast('f32', e.cast('f64', e.load(x, i)))),
            { mode: 'vector' },
          ),
        );
      assert.equal(costAt(n, both), 5 * Math.ceil(n / 2));
    }
  });

  it('of bounds that locals and other loops give is that of the first iteration', () => {
    const local = e.variable('half', 'i32');
    const halved = (size: Expr) =>
      e.block(e.declare(local, e.div(size, 2)), e.forLoop('i', 0, local, scale));
    assert.equal(costAt(10, halved), 5 + 4 * 5);
    const triangle = (size: Expr) =>
      e.block(e.forLoop('i', 0, size, (i) => e.forLoop('j', i, size, scale)));
    assert.equal(costAt(6, triangle), (4 * 6 + 1) * 6);
    const limited = (size: Expr) => e.block(e.forLoop('i', 0, e.min(size, 5), scale));
    assert.equal(costAt(3, limited), 12);
    assert.equal(costAt(50, limited), 20);
  });

  it('of what only data decides counts once', () => {
    const counts = e.buffer('counts', 'i32');
    const unknown = () => e.block(e.forLoop('i', 0, e.load(counts, 0), scale));
    assert.equal(costAt(9, unknown), 4);
    const quotient = (size: Expr) => e.block(e.forLoop('i', 0, e.div(8, size), scale));
    assert.equal(costAt(2, quotient), 4);
  });

  it('of a branch is that of its condition and of the dearer side', () => {
    const side = (times: number) => e.forLoop('i', 0, times, scale);
    const branch = (size: Expr, first: number, second: number | null) =>
      e.block(e.ifThen(e.lt(size, 5), side(first), second === null ? null : side(second)));
    assert.equal(
      costAt(9, (size) => branch(size, 3, null)),
      1 + 12,
    );
    assert.equal(
      costAt(9, (size) => branch(size, 3, 8)),
      1 + 32,
    );
    assert.equal(
      costAt(9, (size) => branch(size, 8, 3)),
      1 + 32,
    );
  });

  it('of a while loop is that of its trips, where it counts up to a limit', () => {
    const at = e.variable('at', 'i32');
    const loop = (size: Expr, from: Expr, advance: Expr) =>
      e.block(
        e.declare(at, from),
        e.whileLoop(e.lt(at, size), e.block(scale(at), e.assign(at, advance))),
      );
    // 3 instructions of the store, 1 of the assignment and 1 of its sum.
    for (const n of [0, 1, 8, 9]) {
      assert.equal(
        costAt(n, (size) => loop(size, e.i32(0), e.add(at, 1))),
        5 * n,
      );
      assert.equal(
        costAt(n, (size) => loop(size, e.i32(0), e.add(at, 4))),
        5 * Math.ceil(n / 4),
      );
      assert.equal(
        costAt(n, (size) => loop(size, e.i32(2), e.add(at, 1))),
        5 * Math.max(0, n - 2),
      );
      assert.equal(
        costAt(n, (size) => loop(size, e.i32(0), e.mul(at, 2))),
        5,
      );
      assert.equal(
        costAt(n, (size) => loop(size, e.i32(0), e.add(at, -1))),
        5,
      );
    }
  });

  it('is counted in whole grains', () => {
    const loop = (size: Expr) => e.block(e.forLoop('i', 0, size, scale));
    for (const n of [0, 24, 25, 49, 50, 1000])
      assert.equal(costAt(n, loop, 100), Math.floor((4 * n) / 100));
    assert.equal(costAt(2 ** 13 - 1, loop, null), 0);
    assert.equal(costAt(2 ** 13, loop, null), 1);
  });
});
