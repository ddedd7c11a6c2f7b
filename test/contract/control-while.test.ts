import * as kn from '../../src/index.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';

/* Loops that a condition ends, line by line. */

const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });
const vector = (...values: number[]): kn.NDArray => kn.array(values, { dtype: 'float64' });
const integer = (value: number): kn.NDArray => kn.array(value, { dtype: 'int32' });

inEveryFormWithGradients('whileLoop has as many rows as there were iterations, and counts them', {
  inputs: () => ({ x: scalar(1.5), w: scalar(2) }),
  code: ({ x, w }) =>
    kn.whileLoop(
      (v) => v.less(20),
      (v) => [v.square(), v.mul(w)],
      x,
    ),
  gives: [[2.25, 9, 36, 144], 24, 4],
  gradients: {
    // The rows are x² w^2k for k = 0..3, the last variable is x w⁴.
    x: 2 * 1.5 * (1 + 4 + 16 + 64) + 16,
    w: 2.25 * (2 * 2 + 4 * 8 + 6 * 32) + 1.5 * 4 * 8,
  },
});

inEveryFormWithGradients('padded outputs have maxIterations rows, zero beyond the iterations', {
  inputs: () => ({ x: vector(1, 2), w: scalar(3) }),
  code: ({ x, w }) =>
    kn.whileLoop(
      (v) => v.sum().less(20),
      (v) => [{ v, w: w.mul(v) }, v.mul(w)],
      x,
      { maxIterations: 4, padded: true },
    ),
  gives: [
    {
      v: [[1, 2], [3, 6], [0, 0], [0, 0]], // prettier-ignore
      w: [[3, 6], [9, 18], [0, 0], [0, 0]], // prettier-ignore
    },
    [9, 18],
    2,
  ],
});

for (const padded of [false, true]) {
  const what = padded ? 'padded' : 'one row for each iteration';
  inEveryFormWithGradients(`maxIterations ends a loop, ${what}`, {
    inputs: () => ({ x: scalar(1), w: scalar(2) }),
    code: ({ x, w }) =>
      kn.whileLoop(
        (_, v) => v.greater(0),
        (i, v) => [v, [i.add(1), v.mul(w)]],
        [integer(0), x],
        { maxIterations: 3, padded },
      ),
    gives: [[1, 2, 4], [3, 8], 3], // prettier-ignore
    gradients: { x: 1 + 2 + 4 + 8, w: 1 + 2 * 2 + 3 * 4 },
  });
  const rows = padded ? [[0, 0], [0, 0]] : []; // prettier-ignore
  inEveryFormWithGradients(`no iteration: variables come back, captures get zeros, ${what}`, {
    inputs: () => ({ x: vector(30, 1), w: vector(3, 4) }),
    code: ({ x, w }) =>
      kn.whileLoop(
        (v) => v.sum().less(20),
        (v) => [v.mul(w), v.add(kn.random.uniform([2]))],
        x,
        { maxIterations: 2, padded },
      ),
    gives: [rows, [30, 1], 0],
    gradients: { x: [1, 1], w: [0, 0] },
  });
  inEveryFormWithGradients(`maxIterations 0 allows none, ${what}`, {
    inputs: () => ({ x: vector(1, 1), w: vector(3, 4) }),
    code: ({ x, w }) =>
      kn.whileLoop(
        (v) => v.sum().less(20),
        (v) => [v.mul(w), v.mul(w)],
        x,
        { maxIterations: 0, padded },
      ),
    gives: [[], [1, 1], 0], // prettier-ignore
  });
}

inEveryFormWithGradients('a list of loop variables is spread, anything else is passed as one', {
  inputs: () => ({ a: scalar(1), b: vector(5, 6) }),
  code: ({ a, b }) => [
    kn.whileLoop(
      (x, [y]) => x.less(4).logicalAnd(y.sum().less(100)),
      (x, [y]) => [[], [x.mul(2), [y.add(x)]]],
      [a, [b]],
    ),
    kn.whileLoop(
      ({ x }) => x.less(4),
      ({ x, y }) => [[x], { y: y.mul(x), x: x.add(1) }],
      { x: a, y: b },
    ),
    kn.whileLoop(
      (x) => x.less(4),
      (x) => [[[]], [x.add(2)]],
      [a],
    ),
  ],
  gives: [
    [[], [4, [[8, 9]]], 2], // prettier-ignore
    [[[1, 2, 3]], { x: 4, y: [30, 36] }, 3], // prettier-ignore
    [[[]], [5], 2], // prettier-ignore
  ],
});

inEveryFormWithGradients('there may be no loop variables at all', {
  inputs: () => ({ x: scalar(3) }),
  code: ({ x }) =>
    kn.whileLoop(
      () => x.greater(2),
      () => [x.mul(2), []],
      [],
      { maxIterations: 2 },
    ),
  gives: [[6, 6], [], 2], // prettier-ignore
  gradients: { x: 4 },
});

inEveryFormWithGradients('a condition has one element of any rank', {
  inputs: () => ({ x: kn.array([[1]], { dtype: 'float64' }) }),
  code: ({ x }) =>
    kn.whileLoop(
      (v) => v.less(5),
      (v) => [v.sum(), v.mul(2)],
      x,
    ),
  gives: [[1, 2, 4], [[8]], 3], // prettier-ignore
});

inEveryFormWithGradients('a body draws as eager code does, as often as it runs', {
  inputs: () => ({ x: scalar(0.5) }),
  code: ({ x }) => [
    kn.whileLoop(
      (v) => v.less(3),
      (v) => [kn.random.normal([2]).mul(v), v.add(kn.random.uniform([]))],
      x,
      { maxIterations: 20 },
    ),
    kn.random.normal([2]),
  ],
});

for (const maxIterations of [3, 40]) {
  inEveryFormWithGradients(`a condition may draw, ${maxIterations} iterations at most`, {
    inputs: () => ({ x: scalar(0.5) }),
    code: ({ x }) => [
      kn.whileLoop(
        () => kn.random.uniform([]).less(0.85),
        (v) => [v, v.add(kn.random.uniform([]))],
        x,
        { maxIterations },
      ),
      kn.random.normal([2]),
    ],
  });
}

inEveryFormWithGradients('the length of an inner loop may depend on the row of an outer one', {
  inputs: (n) => ({ xs: kn.arange(n, { dtype: 'float64' }), w: scalar(1.5) }),
  axes: { xs: ['n'] },
  code: ({ xs, w }) =>
    kn.foreach(
      (x, s) => {
        const [, last, count] = kn.whileLoop(
          (v) => v.less(x),
          (v) => [[], v.add(w)],
          s.mul(0.5),
        );
        return [[last, count], last];
      },
      xs,
      w,
    ),
});

for (const save of ['all', 'none'] as const) {
  inEveryFormWithGradients(`what is saved changes no result and no gradient: ${save}`, {
    inputs: () => ({ x: vector(0.5, 0.25), w: scalar(1.25) }),
    code: ({ x, w }) =>
      kn.whileLoop(
        (v) => v.sum().less(4),
        (v) => [v.sin(), v.mul(w).add(v.exp().mul(kn.random.uniform([])))],
        x,
        { save, maxIterations: 9 },
      ),
  });
}

inEveryForm('integers are counted and stacked like anything else', {
  inputs: () => ({ n: integer(27) }),
  code: ({ n }) =>
    kn.whileLoop(
      (k) => k.notEqual(1),
      (k) => [k, kn.where(k.mod(2).equal(0), k.floorDivide(2), k.mul(3).add(1))],
      n,
    ),
});
