import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dim } from '../../../../src/base/dim/index.js';
import { symbol } from '../../../../src/base/dim/index.js';
import { interpret } from '../../../../src/loop/interpret/interpret.js';
import * as e from '../../../../src/loop/language/build.js';
import { ExtentParameters } from '../../../../src/loop/language/extents.js';
import type { Expr } from '../../../../src/loop/language/nodes.js';
import { type NestPlan, planLoops } from '../../../../src/ops/nests/nest.js';
import { loopsToTile, tiledNest } from '../../../../src/kernels/cpu/points/tile.js';

/** `out[i, j, k] = x[k, j, i]`, or in another order of axes. */
function planned(shape: readonly Dim[], order: readonly number[]) {
  const extents = new ExtentParameters();
  const x = e.buffer('x', 'f32');
  const out = e.buffer('out', 'f32');
  const sizes = shape.map((dim) => extents.extent(dim));
  const place = (index: readonly Expr[], axes: readonly number[]): Expr =>
    axes.reduce((at, axis) => e.add(e.mul(at, sizes[axis]), index[axis]), e.i32(0) as Expr);
  const inOrder = shape.map((_, axis) => axis);
  const probe = (index: readonly Expr[]) => ({
    values: [e.load(x, place(index, order))],
    addresses: [place(index, inOrder)],
  });
  const plan = planLoops(extents, shape, probe, new Set());
  return { extents, x, out, plan, place, inOrder };
}

const tiled = (shape: readonly Dim[], order: readonly number[]): ReturnType<typeof loopsToTile> =>
  loopsToTile(planned(shape, order).plan as NestPlan);

describe('loops to tile', () => {
  it('are two of opposite order in memory, if both are long', () => {
    assert.deepEqual(
      tiled([64, 64], [1, 0])?.map(({ axes }) => axes),
      [[0], [1]],
    );
    assert.deepEqual(
      tiled([64, 3, 64], [2, 1, 0])?.map(({ axes }) => axes),
      [[0], [2]],
    );
    assert.deepEqual(
      tiled([symbol('n'), symbol('m')], [1, 0])?.map(({ axes }) => axes),
      [[0], [1]],
    );
    assert.equal(tiled([63, 64], [1, 0]), null);
    assert.equal(tiled([64, 63], [1, 0]), null);
  });

  it('are none where the order is the same, or that of elements beside each other', () => {
    assert.equal(tiled([64, 64], [0, 1]), null);
    assert.equal(tiled([64, 64, 64], [1, 0, 2]), null);
  });
});

describe('a tiled nest', () => {
  const cases: readonly (readonly [readonly number[], readonly number[]])[] = [
    [
      [64, 128],
      [1, 0],
    ],
    [
      [65, 64],
      [1, 0],
    ],
    [
      [64, 127],
      [1, 0],
    ],
    [
      [70, 3, 130],
      [2, 1, 0],
    ],
    [
      [3, 66, 65],
      [0, 2, 1],
    ],
  ];
  for (const isSymbolic of [false, true]) {
    it(`visits each element once, ${isSymbolic ? 'for any size' : 'for known sizes'}`, () => {
      for (const [sizes, order] of cases) {
        const shape = sizes.map((size, axis): Dim => (isSymbolic ? symbol(`n${axis}`) : size));
        const { extents, x, out, plan, place, inOrder } = planned(shape, order);
        const pair = loopsToTile(plan);
        assert.ok(pair !== null, sizes.join());
        // Loops over several axes at once have one index for all of them.
        assert.ok(plan.loops.every(({ axes }) => axes.length === 1));
        const body = tiledNest(plan.loops, pair, (at) => {
          const index = inOrder.map(
            (axis) => at[plan.loops.findIndex(({ axes }) => axes[0] === axis)],
          );
          const to = place(index, inOrder);
          return e.store(out, to, e.add(e.load(out, to), e.load(x, place(index, order))));
        });
        const params = extents.params.map(({ param }) => param);
        const count = sizes.reduce((a, b) => a * b, 1);
        const memory = new ArrayBuffer(8 * count);
        const [given, found] = [
          new Float32Array(memory, 0, count),
          new Float32Array(memory, 4 * count),
        ];
        given.forEach((_, k) => (given[k] = k + 1));
        const values = extents.params.map(({ dim }) => sizes[Number(dim.key.slice(1))]);
        interpret(e.moduleOf([e.kernel('k', [x, out, ...params], body)]), memory, 'k', [
          0,
          4 * count,
          ...values,
        ]);
        let at = 0;
        const index = sizes.map(() => 0);
        const visit = (axis: number): void => {
          if (axis === sizes.length) {
            const from = order.reduce((sum, each) => sum * sizes[each] + index[each], 0);
            assert.equal(found[at++], from + 1, `${sizes.join(' x ')} at ${index.join()}`);
            return;
          }
          for (index[axis] = 0; index[axis] < sizes[axis]; index[axis]++) visit(axis + 1);
        };
        visit(0);
      }
    });
  }
});
