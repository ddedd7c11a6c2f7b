import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../../src/onnx.js';

/*
 * Loops and branches of models that compute with sizes of arrays from around them. Models are written for captured
 * functions, read again, and compared with the functions in eager code.
 */

type Of = (x: kn.NDArray, u: kn.NDArray) => kn.NDArray;

const float64 = (x: readonly number[]): kn.NDArray => kn.array(x, { dtype: 'float64' });
const positive = (x: kn.NDArray): kn.NDArray => x.booleanMask(x.greater(0));
const rows = (u: kn.NDArray, row: (r: kn.NDArray) => kn.NDArray): kn.NDArray =>
  kn.foreach((r: kn.NDArray) => [row(r), []], u, [])[0];

const functions: Readonly<Record<string, Of>> = {
  'rows of a shape': (x, u) => {
    const some = positive(x);
    return rows(u, (r) => kn.broadcastTo(r, kn.shapeOf(some)));
  },
  'rows of zeros that are as many as what the data selects': (x, u) => {
    const some = positive(x);
    return rows(u, (r) => kn.zerosLike(some).add(r));
  },
  'rows that a branch chooses': (x, u) => {
    const some = positive(x);
    return rows(u, (r) =>
      kn.cond(
        r.greater(0),
        () => kn.zerosLike(some),
        () => kn.onesLike(some),
      ),
    );
  },
  'rows of a loop that a condition ends': (x, u) => {
    const some = positive(x);
    const holds = (i: kn.NDArray): kn.NDArray => i.less(u.sum());
    return kn.whileLoop(
      holds,
      (i: kn.NDArray) => [kn.zerosLike(some).add(i), i.add(1)],
      float64([0]).sum(),
    )[0]; // prettier-ignore
  },
  'rows of a loop inside of another': (x, u) => {
    const some = positive(x);
    return rows(x, (r) => rows(u, (s) => kn.zerosLike(some).add(r.mul(s))));
  },
  'rows beside a size that each iteration decides': (x, u) => {
    const some = positive(x);
    return rows(u, (r) => kn.onesLike(some).mul(x.booleanMask(x.greater(r)).sum()));
  },
  'rows that are one shorter than what the data selects': (x, u) => {
    const some = positive(x).slice([1, null]);
    return rows(u, (r) => kn.zerosLike(some).add(r));
  },
};

for (const [name, of] of Object.entries(functions)) {
  test(`${name}: also of a loop without an iteration`, () => {
    const captured = kn.hybridize(of, { dynamic: [['k'], ['n']] });
    const model = fromOnnx(toOnnx(captured.graphFor(float64([1, 2]), float64([1, 2, 3]))));
    const [x, u] = model.inputNames;
    for (const first of [[1, -1, 2], [3]]) {
      for (const second of [[], [0.5], [2, -1, 3]]) {
        const [found] = Object.values(model.run({ [x]: float64(first), [u]: float64(second) }));
        const expected = of(float64(first), float64(second));
        assert.deepEqual(found.shape, expected.shape, `${first.join()}; ${second.join()}`);
        assert.deepEqual(found.tolist(), expected.tolist());
      }
    }
  });
}

test('a state has the size that it had before, whatever the size of the next one is called', () => {
  const of: Of = (x, u) => {
    const shorter = x.slice([null, -1]);
    const [, end] = kn.foreach((r: kn.NDArray) => [[], x.slice([1, null]).mul(r)], u, shorter); // prettier-ignore
    return end;
  };
  const captured = kn.hybridize(of, { dynamic: [['k'], null] });
  const model = fromOnnx(toOnnx(captured.graphFor(float64([1, 2]), float64([1, 2]))));
  const [x, u] = model.inputNames;
  for (const first of [[1], [1, 2], [1, 2, 3, 4]]) {
    const [found] = Object.values(model.run({ [x]: float64(first), [u]: float64([2, 3]) }));
    assert.deepEqual(found.tolist(), of(float64(first), float64([2, 3])).tolist());
  }
});
