import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  addDim,
  type Dim,
  evaluateDim,
  mulDim,
  subDim,
  symbol,
} from '../../../src/base/dim/index.js';
import * as e from '../../../src/loop/language/build.js';
import { ExtentParameters } from '../../../src/loop/language/extents.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { stepsOf } from '../../../src/ops/nests/linear.js';

const [n, m] = [symbol('n'), symbol('m')];
const sizes = new Map([
  ['n', 5],
  ['m', 11],
]);

/** Indices of two axes, and sizes as a kernel has them. */
function setting(): {
  readonly i: Expr;
  readonly j: Expr;
  readonly sized: (dim: Dim) => Expr;
  readonly steps: (expr: Expr) => readonly (number | undefined)[] | undefined;
} {
  const extents = new ExtentParameters();
  const [i, j] = [e.variable('i', 'i32'), e.variable('j', 'i32')];
  const axisOf = new Map([
    [i, 0],
    [j, 1],
  ]);
  return {
    i,
    j,
    sized: (dim) => extents.extent(dim),
    steps: (expr) => {
      const found = stepsOf(expr, axisOf, extents);
      return found && [0, 1].map((axis) => evaluateDim(found.get(axis) ?? 0, sizes) + 0);
    },
  };
}

/** An expression of the indices and sizes together with its meaning. */
interface Linear {
  readonly expr: Expr;
  readonly at: (i: number, j: number) => number;
  /** The highest power of indices. */
  readonly degree: number;
}

describe('steps of an address', () => {
  it('are the differences between neighbors, of any sum of products', () => {
    const { i, j, sized, steps } = setting();
    const constant = (dim: Dim): Linear => ({
      expr: sized(dim),
      at: () => evaluateDim(dim, sizes),
      degree: 0,
    });
    const leaves: readonly Linear[] = [
      { expr: i, at: (a) => a, degree: 1 },
      { expr: j, at: (_, b) => b, degree: 1 },
      ...[0, 1, 2, 7, n, m, addDim(n, 1), mulDim(n, m), subDim(m, n)].map(constant),
    ];
    const { tree } = fc.letrec<{ tree: Linear }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(...leaves),
        fc
          .tuple(fc.constantFrom('add', 'sub', 'mul'), tie('tree'), tie('tree'))
          .map(([op, a, b]) => {
            const value = (x: number, y: number): number =>
              op === 'add' ? x + y : op === 'sub' ? x - y : x * y;
            return {
              expr: e.binary(op, a.expr, b.expr),
              at: (x: number, y: number) => value(a.at(x, y), b.at(x, y)),
              degree: op === 'mul' ? a.degree + b.degree : Math.max(a.degree, b.degree),
            };
          }),
      ),
    }));
    let proved = 0;
    fc.assert(
      fc.property(tree, ({ expr, at, degree }) => {
        const found = steps(expr);
        if (degree > 1) return;
        proved++;
        assert.deepEqual(found, [at(1, 0) - at(0, 0) + 0, at(0, 1) - at(0, 0) + 0]);
        assert.equal(at(3, 4) + 0, at(0, 0) + 3 * found![0]! + 4 * found![1]!);
      }),
      { seed: 1, numRuns: 1000 },
    );
    assert.ok(proved > 300);
  });

  it('are unknown for products of indices, and where memory decides', () => {
    const { i, j, sized, steps } = setting();
    const at = e.load(e.buffer('at', 'i32'), i);
    for (const expr of [
      e.mul(i, j),
      e.mul(i, i),
      e.mul(e.add(i, 1), j),
      at,
      e.add(i, at),
      e.sub(at, j),
      e.div(i, 2),
      e.mul(sized(n), at),
    ]) {
      assert.equal(steps(expr), undefined);
    }
    assert.deepEqual(steps(e.div(sized(n), 2)), [0, 0]);
    assert.deepEqual(steps(e.mul(e.div(sized(n), 2), j)), [0, 2]);
  });
});
