import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../support.js';

/* Head gradients of known sizes for results whose sizes the data decides. */

const mask = (...values: boolean[]): kn.NDArray => kn.array(values);

type Step = (x: kn.NDArray, m: kn.NDArray, h: kn.NDArray) => kn.NDArray;

const steps: Readonly<Record<string, Step>> = {
  backward: (x, m, h) => {
    const y = kn.autograd.record(() => kn.booleanMask(x.mul(x), m));
    y.backward(h);
    return y;
  },
  'autograd.grad': (x, m, h) => {
    const y = kn.autograd.record(() => kn.booleanMask(x.mul(x), m));
    const [g] = kn.autograd.grad([y], [x], { headGrads: [h], retainGraph: true }) as kn.NDArray[];
    y.backward(h);
    assert.ok(g !== undefined);
    return g;
  },
};

for (const [name, step] of Object.entries(steps)) {
  test(`a head gradient meets a result whose size the data decides: ${name}`, () => {
    const captured = kn.hybridize(step);
    for (const bits of [
      [true, false, true, true],
      [false, true, true, true],
    ]) {
      // prettier-ignore
      const [x, y] = [kn.array([1, 2, 3, 4]), kn.array([1, 2, 3, 4])];
      x.attachGrad();
      y.attachGrad();
      const head = kn.array([1, 10, 100]);
      const expected = step(x, mask(...bits), head);
      assert.deepEqual(captured(y, mask(...bits), head).tolist(), expected.tolist());
      assert.deepEqual(y.grad!.tolist(), x.grad!.tolist());
      let k = 0;
      const byHand = bits.map((bit, i) => (bit ? 2 * (i + 1) * 10 ** k++ : 0));
      assert.deepEqual(y.grad!.tolist(), byHand);
    }
  });

  test(`one of another size is refused when the data has decided, captured as eagerly: ${name}`, () => {
    for (const wrong of [
      mask(true, false, false, true),
      mask(true, false, false, false),
      mask(true, true, true, true),
    ]) {
      // prettier-ignore
      const x = kn.array([1, 2, 3, 4]);
      x.attachGrad();
      const captured = kn.hybridize(step);
      captured(x, mask(true, false, true, true), kn.ones([3]));
      const before = x.grad!.tolist();
      for (const run of [step, captured]) {
        refuses(() => run(x, wrong, kn.ones([3])), kn.ShapeError, '[3]');
        assert.deepEqual(x.grad!.tolist(), before);
      }
    }
  });
}

test('every axis has to agree, not only the number of elements', () => {
  const step = (x: kn.NDArray, m: kn.NDArray, h: kn.NDArray): kn.NDArray => {
    const y = kn.autograd.record(() => kn.booleanMask(x, m).transpose());
    y.backward(h);
    return y;
  };
  const x = kn.arange(12).reshape([4, 3]);
  x.attachGrad();
  const captured = kn.hybridize(step);
  const head = kn.arange(6).reshape([3, 2]);
  captured(x, mask(true, false, false, true), head);
  assert.deepEqual(x.grad!.tolist(), [[0, 2, 4], [0, 0, 0], [0, 0, 0], [1, 3, 5]]); // prettier-ignore
  refuses(() => captured(x, mask(true, true, true, true), head), kn.ShapeError);
  refuses(() => captured(x, mask(true, false, false, true), kn.ones([2, 3])), kn.ShapeError);
  refuses(() => captured(x, mask(true, false, false, true), kn.ones([6])), kn.ShapeError);
});
