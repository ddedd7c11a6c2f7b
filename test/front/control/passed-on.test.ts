import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

// Arrays that bodies hand on as they are: gradients flow through, also to arrays that nothing was attached to.

const flows: Readonly<Record<string, (x: kn.NDArray) => kn.NDArray>> = {
  'a state of foreach': (x) => kn.foreach((_, s: kn.NDArray) => [[], s], kn.ones([3]), x)[1],
  'an output of foreach': (x) => kn.foreach(() => [x, []], kn.ones([2]), [])[0].mul(0.5),
  'an output of iterations that are computed again': (x) =>
    kn.foreach(() => [x, []], kn.ones([2]), [], { save: 'none' })[0].mul(0.5),
  'a result of a checkpoint': (x) => kn.checkpoint(() => x)(),
  'what a checkpoint reads': (x) => kn.checkpoint(() => x.mul(1))(),
  'a variable of whileLoop': (x) =>
    kn.whileLoop(
      (i) => i.less(2),
      (i, s) => [[], [i.add(1), s]],
      [kn.zeros([]), x] as [kn.NDArray, kn.NDArray],
    )[1][1],
  'a branch of cond': (x) => kn.cond(kn.array(true, { dtype: 'bool' }), () => x, () => x.mul(2)), // prettier-ignore
};

for (const [name, flow] of Object.entries(flows)) {
  test(`gradients flow through what is handed on as ${name}, eagerly and captured`, () => {
    for (const f of [flow, kn.hybridize(flow)]) {
      const x = kn.array([1, 2]);
      const loss = kn.autograd.record(() => f(x).sum().add(x.square().sum()));
      const [grad] = kn.autograd.grad(loss, [x]);
      assert.deepEqual(grad.tolist(), [3, 5]);
    }
  });
}

test('an iteration that is computed again may hand on its slice, beside what nothing reads', () => {
  const [x, w] = [kn.array([[1], [2]]), kn.array([0.5])];
  x.attachGrad();
  w.attachGrad();
  const loss = kn.autograd.record(() => {
    const [out] = kn.foreach((row: kn.NDArray, s: kn.NDArray) => [row, w.tanh().add(s)], x, w, { save: 'none' }); // prettier-ignore
    return out.mul(3).sum();
  });
  loss.backward();
  assert.deepEqual(x.grad!.tolist(), [[3], [3]]);
  assert.deepEqual(w.grad!.tolist(), [0]);
});
