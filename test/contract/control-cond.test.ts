import * as kn from '../../src/index.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';

/* Branches, line by line. */

const vector = (...values: number[]): kn.NDArray => kn.array(values, { dtype: 'float64' });
const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });

for (const sign of [1, -1]) {
  const branch = sign > 0 ? 'the first branch' : 'the second branch';
  inEveryFormWithGradients(`cond gives what ${branch} gives, and zero gradients to the other`, {
    inputs: () => ({ x: vector(sign, 2 * sign), a: scalar(3), b: scalar(5) }),
    code: ({ x, a, b }) => {
      const y = kn.cond(
        x.sum().greater(0),
        () => x.mul(a),
        () => x.square().mul(b),
      );
      // Eager code knows nothing of the branch not taken; here it takes part.
      return [y, a.mul(0), b.mul(0)];
    },
    gives: [sign > 0 ? [3, 6] : [5, 20], 0, 0], // prettier-ignore
    gradients:
      sign > 0 ? { x: [3, 3], a: 3, b: 0 } : { x: [-10, -20], a: 0, b: 5 }, // prettier-ignore
  });

  inEveryFormWithGradients(`results are nested as the branches have them: ${branch}`, {
    inputs: () => ({ x: scalar(2 * sign), y: vector(1, 2) }),
    code: ({ x, y }) =>
      kn.cond(
        () => x.greater(0).reshape([1, 1]),
        () => ({ list: [x, { y }], bare: y.sum() }),
        () => ({ list: [y.mean(), { y: y.mul(x) }], bare: x.mul(2) }),
      ),
    gives:
      sign > 0 ? { list: [2, { y: [1, 2] }], bare: 3 } : { list: [1.5, { y: [-2, -4] }], bare: -4 },
  });

  inEveryFormWithGradients(`branches draw as much as they want: ${branch}`, {
    inputs: () => ({ x: scalar(sign) }),
    code: ({ x }) => [
      kn.cond(
        x.greater(0),
        () => x.mul(kn.random.uniform([2])).add(kn.random.normal([2])),
        () => kn.stack([x, x]),
      ),
      kn.random.uniform([2]),
    ],
  });

  inEveryFormWithGradients(`branches inside of branches: ${branch}`, {
    inputs: () => ({ x: scalar(2 * sign), w: scalar(3) }),
    code: ({ x, w }) => {
      const scaled = x.mul(w);
      return kn.cond(
        x.greater(0),
        () =>
          kn.cond(
            scaled.greater(5),
            () => [scaled.mul(x)],
            () => [w.mul(kn.random.uniform([]))],
          ),
        () => [kn.random.uniform([]).mul(scaled).add(w)],
      );
    },
  });

  inEveryFormWithGradients(`a loop in a branch: ${branch}`, {
    inputs: (n) => ({ xs: kn.arange(n, { dtype: 'float64' }), s: scalar(sign) }),
    axes: { xs: ['n'] },
    code: ({ xs, s }) =>
      kn.cond(
        s.greater(0),
        () => kn.foreach((x, h) => [h.mul(x), h.add(x)], xs, s),
        () => [xs.mul(s), xs.sum()],
      ),
  });
}

inEveryFormWithGradients('a branch in a loop', {
  inputs: () => ({ xs: vector(1, -2, 3, -4), w: scalar(0.5) }),
  code: ({ xs, w }) =>
    kn.foreach(
      (x, s) => {
        const y = kn.cond(
          x.greater(0),
          () => x.mul(w).add(s),
          () => s.mul(kn.random.uniform([])),
        );
        return [y, s.add(y)];
      },
      xs,
      w,
    ),
});

inEveryForm('branches may give anything that agrees in structure and dtype', {
  inputs: () => ({ k: kn.array(3, { dtype: 'int32' }) }),
  code: ({ k }) =>
    kn.cond(
      k.less(3),
      () => [k, k.equal(3), []],
      () => [k.mul(2), k.notEqual(3), []],
    ),
  gives: [6, false, []],
});

for (const sign of [1, -1]) {
  inEveryFormWithGradients(`sizes may differ between branches: ${sign}`, {
    inputs: () => ({ x: vector(1, 2, 3), s: scalar(sign) }),
    code: ({ x, s }) =>
      kn
        .cond(
          s.greater(0),
          () => x.slice([0, 2]).mul(s),
          () => x.mul(s),
        )
        .mul(2),
    gives: sign > 0 ? [2, 4] : [-2, -4, -6],
  });
}
