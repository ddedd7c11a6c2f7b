import * as kn from '../../src/index.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';

/* Loops over rows: one contract for eager and captured code, line by line. */

const rows = (n: number): kn.NDArray =>
  kn.array(
    Array.from({ length: n }, (_, i) => [i + 1, -0.5 * i]),
    { dtype: 'float64' },
  );
const vector = (...values: number[]): kn.NDArray => kn.array(values, { dtype: 'float64' });
const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });

/** What a loop written by hand gives: the outputs in a list, then the last state. */
function unrolled<X, S, O>(
  body: (x: X, s: S) => readonly [O, S],
  data: readonly X[],
  init: S,
): [O[], S] {
  let state = init;
  const outputs = data.map((x) => {
    const [output, next] = body(x, state);
    state = next;
    return output;
  });
  return [outputs, state];
}

const threeRows = [[1, 0], [2, -0.5], [3, -1]]; // prettier-ignore

inEveryFormWithGradients('foreach iterates over the first dimension, and carries its states', {
  inputs: (n) => ({ xs: rows(n), s: vector(1, 2) }),
  axes: { xs: ['n', null] },
  code: ({ xs, s }) =>
    kn.foreach(
      (x, h) => {
        const next = h.mul(0.5).add(x);
        return [next.mul(x), next];
      },
      xs,
      s,
    ),
  gives: unrolled(
    (x, h: number[]) => {
      const next = h.map((each, i) => each * 0.5 + x[i]);
      return [next.map((each, i) => each * x[i]), next];
    },
    threeRows,
    [1, 2],
  ),
});

inEveryFormWithGradients('a slice of data with one axis has rank 0', {
  inputs: () => ({ xs: vector(2, 3, 4), w: scalar(5) }),
  code: ({ xs, w }) => kn.foreach((x, s) => [s, s.mul(x)], xs, w),
  gives: [[5, 10, 30], 120],
  gradients: {
    // y = w + w x0 + w x0 x1 + w x0 x1 x2
    xs: [5 + 15 + 60, 10 + 40, 30],
    w: 1 + 2 + 6 + 24,
  },
});

inEveryFormWithGradients('data, states and outputs are any nesting of arrays, lists and objects', {
  inputs: (n) => ({ a: rows(n), b: rows(n).mul(2), h: vector(1, 1), c: vector(0, 2) }),
  axes: { a: ['n', null], b: ['n', null] },
  code: ({ a, b, h, c }) =>
    kn.foreach(
      ({ a: x, list: [y] }, { h: u, deep: { c: v } }) => [
        [[u.add(x)], { product: v.mul(y) }],
        { deep: { c: v.add(y) }, h: u.sub(x) },
      ],
      { a, list: [b] },
      { h, deep: { c } },
    ),
  gives: [
    [
      [[[2, 1], [2, 0.5], [1, 0.5]]], // prettier-ignore
      { product: [[0, 0], [8, -2], [36, -2]] }, // prettier-ignore
    ],
    { h: [-5, 2.5], deep: { c: [12, -1] } },
  ],
});

inEveryFormWithGradients('a bare array stays bare, and a list of one stays a list', {
  inputs: () => ({ xs: vector(1, 2, 3), s: scalar(10) }),
  code: ({ xs, s }) => [
    kn.foreach((x, h) => [x.mul(2), h.add(x)], xs, s),
    kn.foreach(([x], [h]) => [[x.mul(2)], [h.add(x)]], [xs], [s]),
    kn.foreach(({ x }, { h }) => [{ x }, { h }], { x: xs }, { h: s }),
  ],
  gives: [[[2, 4, 6], 16], [[[2, 4, 6]], [16]], [{ x: [1, 2, 3] }, { h: 10 }]], // prettier-ignore
});

inEveryFormWithGradients('without states foreach is a map', {
  inputs: (n) => ({ xs: rows(n) }),
  axes: { xs: ['n', null] },
  code: ({ xs }) => kn.foreach((x, none) => [x.square().sum(), none], xs, []),
  gives: [[1, 4.25, 10], []],
});

inEveryFormWithGradients('without outputs it is a fold', {
  inputs: (n) => ({ xs: rows(n), s: scalar(2) }),
  axes: { xs: ['n', null] },
  code: ({ xs, s }) => kn.foreach((x, h) => [[], h.mul(x.sum())], xs, s),
  gives: [[], 2 * 1 * 1.5 * 2],
});

inEveryFormWithGradients('states that the body ignores, replaces or passes through are fine', {
  inputs: () => ({ xs: vector(1, 2), kept: scalar(3), lost: scalar(4), used: scalar(5) }),
  code: ({ xs, kept, lost, used }) =>
    kn.foreach((x, [k, , u]) => [u, [k, x, x.mul(2)]], xs, [kept, lost, used]),
  gives: [[5, 2], [3, 2, 4]], // prettier-ignore
  gradients: { xs: [2, 3], kept: 1, lost: 0, used: 1 },
});

inEveryFormWithGradients('bodies use arrays from around them, which get gradients', {
  inputs: (n) => ({ xs: rows(n), w: vector(3, 4), s: vector(0, 0) }),
  axes: { xs: ['n', null] },
  code: ({ xs, w, s }) => {
    const bias = w.square();
    return kn.foreach((x, h) => [x.mul(w), h.mul(w).add(bias).add(x)], xs, s);
  },
});

inEveryForm('dtypes of data, states and outputs are the user’s own', {
  inputs: (n) => ({ xs: kn.arange(n, { dtype: 'int32' }), s: kn.array(true) }),
  axes: { xs: ['n'] },
  code: ({ xs, s }) =>
    kn.foreach(
      (x, h) => {
        const even = x.mod(2).equal(0);
        return [[x.mul(3), even, x.astype('float64').div(2)], h.logicalXor(even)];
      },
      xs,
      s,
    ),
  gives: [[[0, 3, 6], [true, false, true], [0, 0.5, 1]], true], // prettier-ignore
});

inEveryFormWithGradients(
  'no rows: outputs have none either, states come back, captures get zeros',
  {
    inputs: () => ({
      xs: kn.zeros([0, 2], { dtype: 'float64' }),
      w: vector(3, 4),
      s: vector(5, 6),
    }),
    code: ({ xs, w, s }) =>
      kn.foreach((x, h) => [{ wide: kn.stack([x.mul(w), h]), count: x.sum() }, h.mul(w)], xs, s),
    gives: [{ wide: [], count: [] }, [5, 6]],
    gradients: { xs: [], w: [0, 0], s: [1, 1] },
  },
);

inEveryForm('no rows: nothing is drawn', {
  inputs: () => ({ xs: kn.zeros([0, 2]), s: kn.ones([2]) }),
  code: ({ xs, s }) => [
    kn.foreach((x, h) => [kn.random.uniform([3]), h.add(x)], xs, s),
    kn.random.uniform([2]),
  ],
});

inEveryFormWithGradients('a body draws as eager code does, and so does what follows', {
  inputs: (n) => ({ xs: rows(n), s: vector(1, 1) }),
  axes: { xs: ['n', null] },
  code: ({ xs, s }) => {
    const before = kn.random.normal([2]);
    const looped = kn.foreach(
      (x, h) => {
        const mask = kn.random.bernoulli([2]).astype('float64');
        return [x.mul(mask), h.add(kn.random.normal([2]))];
      },
      xs,
      s,
    );
    return [before, looped, kn.random.uniform([2])];
  },
});

inEveryFormWithGradients('loops inside of loops share what is around them', {
  inputs: (n) => ({ xs: rows(n), w: scalar(0.5), s: scalar(1) }),
  axes: { xs: ['n', null] },
  code: ({ xs, w, s }) =>
    kn.foreach(
      (row, h) => {
        const scale = h.mul(w);
        const [inner, last] = kn.foreach((x, g) => [x.mul(scale), g.add(x.mul(w))], row, h);
        return [inner.add(row), last];
      },
      xs,
      s,
    ),
});

inEveryFormWithGradients('loops inside of loops draw in turn', {
  inputs: (n) => ({ xs: rows(n), s: scalar(1) }),
  axes: { xs: ['n', null] },
  code: ({ xs, s }) =>
    kn.foreach(
      (row, h) => {
        const first = kn.random.uniform([]);
        const [, last] = kn.foreach((x, g) => [[], g.add(x.mul(kn.random.uniform([])))], row, h);
        return [first, last.add(kn.random.uniform([]))];
      },
      xs,
      s,
    ),
});

for (const save of ['all', 'none', 'auto'] as const) {
  inEveryFormWithGradients(`what is saved changes no result and no gradient: ${save}`, {
    inputs: (n) => ({ xs: rows(n), w: vector(0.3, -0.2), s: vector(0, 1) }),
    axes: { xs: ['n', null] },
    code: ({ xs, w, s }) =>
      kn.foreach(
        (x, h) => {
          const next = h
            .mul(w)
            .add(x)
            .tanh()
            .mul(kn.random.uniform([2]).add(1));
          return [next.exp(), next];
        },
        xs,
        s,
        { save },
      ),
  });
}

inEveryForm('gradients may be asked for inside of a body', {
  inputs: (n) => ({ xs: rows(n), w: rows(n) }),
  axes: { xs: ['n', null], w: ['n', null] },
  code: ({ xs, w }) =>
    kn.foreach(
      // The gradient has the size of `w`, which the body uses for nothing else.
      (x, none) => [kn.grad((v: kn.NDArray) => v.sum().mul(x.sum()))(w), none],
      xs,
      [],
    ),
});

inEveryFormWithGradients('a loop over loops’ results, and two loops in a row', {
  inputs: (n) => ({ xs: rows(n), w: vector(2, 3) }),
  axes: { xs: ['n', null] },
  code: ({ xs, w }) => {
    const [first, last] = kn.foreach((x, h) => [h.mul(x), h.add(x)], xs, w);
    return kn.foreach((x, h) => [x.sin(), h.mul(x.cos())], first, last);
  },
});

inEveryFormWithGradients('foreach may go from the last row to the first', {
  inputs: (n) => ({ xs: rows(n), w: vector(2, 3) }),
  axes: { xs: ['n', null] },
  code: ({ xs, w }) =>
    kn.foreach((x, h) => [h.add(x), h.mul(x).add(kn.random.uniform([2]))], xs, w, {
      reverse: true,
    }),
});
