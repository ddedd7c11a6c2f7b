import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import * as kn from '../../../src/index.js';
import type { Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { add, mul, sum } from '../../../src/ops/index.js';
import { differentiated } from '../../../src/passes/gradient/gradient.js';
import { loopBackward } from '../../../src/passes/gradient/loop-gradient.js';
import { programOf } from '../../support/programs.js';
import { testGradients } from './both-orders.js';

/* Backward loops are passed the sizes that they speak of: no operand, state or row is read or saved for its shape. */

test('a backward body reads no values for their shapes', () => {
  const [n, m] = [symbol('n'), symbol('m')];
  const vector = (size: Dim): TensorType => ({ dtype: 'float64', shape: [size] });
  const body = programOf(
    { x: vector(n), y: { dtype: 'float64', shape: [] }, s: vector(m), c: vector(m) },
    ({ x, y, s, c }) => ({ row: mul(sum<Value>(s), y), s: add(add(s, sum(c)), mul(sum(x), y)) }),
  );
  const step = {
    body,
    slices: 2,
    states: 1,
    joined: 0,
    needs: [true, false, true, true],
    flows: [true, true],
    canShift: true,
    save: 'all',
  } as const;
  const back = loopBackward(step, differentiated)!;
  // The gradient of `x` has its size, which neither `y` nor the gradient of the state tells.
  assert.deepEqual(back.sizes, ['n']);
  assert.deepEqual(back.reads, { slices: [1], rows: [], before: [], captures: [] });
  assert.equal(back.saved, 0);
});

const positive = (x: kn.NDArray): kn.NDArray => kn.booleanMask(x, x.greater(0));
const steps = kn.arange(3);

const cases: Readonly<Record<string, (x: kn.NDArray) => kn.NDArray>> = {
  'rows that are only summed up': (x) =>
    kn.foreach(
      (row: kn.NDArray, s: kn.NDArray) => [row.sum().mul(s), s.add(row.sum().sin())],
      kn.stack([x, x.mul(2)]),
      x.sum(),
    )[0],
  'rows of an inner loop that keeps its state': (x) =>
    kn.foreach(
      () => [
        kn.whileLoop(
          (t: kn.NDArray) => t.less(t.add(1)),
          (t: kn.NDArray) => [kn.tile(t.sin().reshape([1]), 2), [t]],
          [x.sum()],
          { maxIterations: 3 },
        )[0],
        [],
      ],
      kn.arange(2),
      [],
    )[0],
  'a capture whose size the data decides': (x) => {
    const some = positive(x);
    return kn.foreach(
      (t: kn.NDArray, s: kn.NDArray) => [s.mul(some.sum()), s.add(some.mean().mul(t)).cos()],
      steps,
      x.sum(),
    )[0];
  },
  'a state of such a size, while a condition holds': (x) => {
    const some = positive(x);
    return kn.whileLoop(
      (i: kn.NDArray) => i.less(3),
      (i: kn.NDArray, s: kn.NDArray) => [s.sum(), [i.add(1), s.mul(0.5).add(some.sum())]],
      [kn.array(0), some],
    )[0];
  },
  'a branch in a loop, with results of such a size': (x) => {
    const some = positive(x);
    return kn.foreach(
      (t: kn.NDArray, s: kn.NDArray) => {
        const chosen = kn.cond(t.greater(0), () => some.mul(s.sum()), () => s.sin()); // prettier-ignore
        return [chosen.sum(), chosen];
      },
      steps,
      some,
    )[0];
  },
  'rows whose number is the square of one that each iteration decides': (x) =>
    kn.foreach(
      (t: kn.NDArray, s: kn.NDArray) => {
        const some = positive(x.mul(s));
        const pairs = kn.outer(some, some.add(t));
        return [pairs.reshape([-1]), s.add(pairs.mean())];
      },
      steps,
      kn.array(1, { dtype: 'float64' }),
    )[0],
};

const points = [
  [1, -2, 0.3, -0.5, 0.25],
  [-1, 0.5],
  [0.5, 1.5, 0.25],
];

for (const [name, computes] of Object.entries(cases)) {
  testGradients(name, (x) => computes(x), [points, [[]]], false);
}

test('gradients of a captured loop whose rows have a size that a branch decides', () => {
  // The branch is computed again where the size is known already: from the gradient of the rows.
  const [x, one] = [kn.array([1, 2, 3]), kn.array([0.5])];
  const computes = (x: kn.NDArray, first: kn.NDArray): kn.NDArray =>
    kn.whileLoop(
      () => kn.array(true),
      () => [
        kn
          .cond(
            first,
            () => one,
            () => x,
          )
          .square(),
        [],
      ],
      [],
      { maxIterations: 2 },
    )[0];
  for (const [first, expected] of [
    [false, [4, 8, 12]],
    [true, [0, 0, 0]],
  ] as const) {
    // prettier-ignore
    const captured = kn.hybridize(computes);
    const found = kn.grad((x: kn.NDArray) => captured(x, kn.array(first)).sum())(x);
    assert.deepEqual(found.tolist(), expected);
  }
});
