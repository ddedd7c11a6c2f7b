import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import type { NDArray } from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

/*
 * Gradients of any order, recorded, functional and captured. Eager code runs the iterations one by one, so
 * it is the hand-unrolled program that the others are compared to.
 */

const f64 = { dtype: 'float64' } as const;
const numbers = (x: NDArray): number[] => [...(x.dataSync() as Float64Array)];
const w = kn.array([[0.5, -0.2], [0.3, 0.1]], f64); // prettier-ignore
const u = kn.array([0.3, 0.7], f64);

type Loss = (x: NDArray, s: NDArray, w: NDArray, u: NDArray) => NDArray;

/** A recurrent layer. */
const recurrent: Loss = (x, s, w, u) => {
  const [rows, last] = kn.foreach(
    (x: NDArray, s: NDArray) => {
      const made = x.matmul(w).add(s.mul(u)).tanh();
      return [made, made];
    },
    x,
    s,
  );
  return rows.square().sum().add(last.sum());
};

/** As many steps of a fixed-point iteration as it takes. */
const iterating: Loss = (x, s, w, u) => {
  const [rows, last] = kn.whileLoop(
    (s: NDArray) => s.square().sum().less(30),
    (s: NDArray) => {
      const made = s
        .matmul(w)
        .add(s.mul(1.7))
        .add(u.mul(x.sum(0)));
      return [made.sin(), [made]];
    },
    [s],
  );
  return rows.sum().add(last[0].sum());
};

/** The same, in as many rows as there may be. */
const padded: Loss = (x, s, w, u) => {
  const [rows, last] = kn.whileLoop(
    (s: NDArray) => s.square().sum().less(30),
    (s: NDArray) => {
      const made = s
        .matmul(w)
        .add(s.mul(1.7))
        .add(u.mul(x.sum(0)));
      return [made.sin(), [made]];
    },
    [s],
    { maxIterations: 20, padded: true },
  );
  return rows.sum().add(last[0].sum());
};

/** A loop in a branch in a loop. */
const nested: Loss = (x, s, w, u) => {
  const [rows, last] = kn.foreach(
    (x: NDArray, s: NDArray) => {
      const made = kn.cond(
        x.sum().greater(0),
        () => {
          const [, [, end]] = kn.whileLoop(
            (i: NDArray) => i.less(3),
            (i: NDArray, t: NDArray) => [[], [i.add(1), t.mul(u).add(x).sin()]],
            [kn.array(0, f64), s],
          );
          return end;
        },
        () => s.matmul(w).tanh(),
      );
      return [made.mul(x), made];
    },
    x,
    s,
  );
  return rows.sum().add(last.square().sum());
};

const x = kn.array([[0.4, 0.1], [-0.3, -0.2], [0.2, 0.5], [-0.6, 0.3], [0.1, 0.9]], f64); // prettier-ignore
const s = kn.array([0.6, -0.4], f64);
const losses: readonly (readonly [string, Loss])[] = [
  ['foreach', recurrent],
  ['whileLoop', iterating],
  ['padded whileLoop', padded],
  ['nested', nested],
];

/** The gradient of the sum of the squares of the gradients, as often as asked. */
function nestedGradient(loss: Loss, order: number): Loss {
  if (order === 0) return loss;
  const inner = nestedGradient(loss, order - 1);
  const grads = kn.grad(inner, [0, 1, 2, 3]);
  return (...args) =>
    grads(...args)
      .map((grad) => grad.square().sum())
      .reduce((a, b) => a.add(b));
}

for (const [name, loss] of losses) {
  test(`${name}: captured at any place in nested gradients, the numbers of eager code`, () => {
    // The third of all nested control flow takes long to derive, and shows nothing that others do not.
    for (const order of name === 'nested' ? [1, 2] : [1, 2, 3]) {
      const expected = numbers(nestedGradient(loss, order)(x, s, w, u));
      const inside = nestedGradient(kn.hybridize(loss), order)(x, s, w, u);
      assertClose(numbers(inside), expected, 1e-9, `order ${order}, captured inside`);
      const whole = kn.hybridize(nestedGradient(loss, order))(x, s, w, u);
      assertClose(numbers(whole), expected, 1e-9, `order ${order}, captured whole`);
    }
  });

  test(`${name}: recorded, as a whole step, and only run`, () => {
    const attached = [x, s, w, u].map((array) => array.mul(1));
    const gradients = (step: Loss): number[][] => {
      for (const array of attached) array.attachGrad();
      const [x, s, w, u] = attached;
      const value = kn.autograd.record(() => step(x, s, w, u));
      value.backward();
      return attached.map(({ grad }) => numbers(grad!));
    };
    const expected = gradients(loss);
    const captured = gradients(kn.hybridize(loss));
    captured.forEach((grad, k) => assertClose(grad, expected[k], 1e-9, `gradient ${k}`));
    for (const save of ['all', 'none', 'auto'] as const) {
      const step = kn.hybridize(
        (x: NDArray, s: NDArray, w: NDArray, u: NDArray) => {
          const grads = kn.grad(loss, [0, 1, 2, 3])(x, s, w, u);
          return [loss(x, s, w, u), ...grads];
        },
        { save },
      );
      const [value, ...grads] = step(x, s, w, u);
      assertClose(numbers(value), numbers(loss(x, s, w, u)), 1e-9);
      grads.forEach((grad, k) => assertClose(numbers(grad), expected[k], 1e-9, save));
    }
    assert.equal(expected.length, 4);
    assertClose(numbers(kn.hybridize(loss)(x, s, w, u)), numbers(loss(x, s, w, u)), 1e-9);
  });
}

test('second derivatives agree with differences of first ones', () => {
  const h = 1e-5;
  for (const [name, loss] of losses) {
    const first = kn.hybridize(kn.grad(loss, 1));
    const direction = kn.array([0.7, -1.1], f64);
    const product = kn.grad((s: NDArray) => first(x, s, w, u).mul(direction).sum())(s);
    const shifted = (step: number): number[] =>
      numbers(kn.grad(loss, 1)(x, s.add(direction.mul(step)), w, u));
    const [up, down] = [shifted(h), shifted(-h)];
    const differences = up.map((each, k) => (each - down[k]) / (2 * h));
    assertClose(numbers(product), differences, 1e-5, name);
  }
});

test('rows that are one value are one row of the loop that gradients of gradients share', () => {
  const twice = (x: NDArray): NDArray => {
    const [[first]] = kn.foreach(
      ([row]: [NDArray], [state]: [NDArray]) => {
        const y = state.mul(row).sin();
        return [[y, y], [y]];
      },
      [kn.array([[1], [0.5]], f64)],
      [x],
    );
    return first.tanh().sum();
  };
  const second = (x: NDArray): NDArray =>
    kn.grad((v: NDArray) => kn.grad(twice)(v).square().sum())(x);
  const x = kn.array([0.4], f64);
  const h = 1e-5;
  const slope = (at: number): number =>
    kn
      .grad(twice)(kn.array([at], f64))
      .item() as number;
  const expected = (slope(0.4 + h) ** 2 - slope(0.4 - h) ** 2) / (2 * h);
  for (const f of [second, kn.hybridize(second)]) assertClose(numbers(f(x)), [expected], 1e-8);
});
