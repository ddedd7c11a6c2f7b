import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

// Sizes that only the data decides meet others: what runs eagerly runs captured.

const x = kn.array([1, 2, 3, 4]);
const bool = (bits: readonly number[]): kn.NDArray => kn.array(bits, { dtype: 'bool' });
const masks = [
  [1, 0, 1, 1],
  [0, 1, 0, 0],
  [1, 1, 0, 0],
  [0, 0, 0, 0],
].map(bool);

type Selecting = (x: kn.NDArray, mask: kn.NDArray, y: kn.NDArray) => kn.NDArray;

const forms: Readonly<Record<string, (f: Selecting) => Selecting>> = {
  hybridized: (f) => kn.hybridize(f),
  'a static graph in pieces': (f) => {
    const look = kn.staticCode((r: kn.NDArray) => void r.dataSync());
    return kn.staticGraph((a: kn.NDArray, mask: kn.NDArray, y: kn.NDArray) => {
      look(a);
      const result = f(a, mask, y);
      look(result);
      return result;
    });
  },
  deferred: (f) => (a, mask, y) => kn.deferredCompute(() => f(a, mask, y)),
  'in a loop': (f) =>
    kn.hybridize((a: kn.NDArray, mask: kn.NDArray, y: kn.NDArray) => {
      const body = (_: kn.NDArray, total: kn.NDArray): [never[], kn.NDArray] => [[], total.add(f(a, mask, y).sum())]; // prettier-ignore
      return kn.foreach(body, kn.ones([1]), kn.zeros([]))[1];
    }),
};

for (const [name, form] of Object.entries(forms)) {
  test(`a number broadcasts with what a mask has selected as it does eagerly: ${name}`, () => {
    const add: Selecting = (a, mask, y) => a.booleanMask(mask).mul(2).add(y);
    const captured = form(add);
    for (const mask of masks) {
      for (const size of [3, 1]) {
        const y = kn.arange(size).mul(10);
        let expected: kn.NDArray | null = null;
        try {
          expected = add(x, mask, y);
        } catch (error) {
          assert.ok(error instanceof kn.ShapeError);
        }
        if (expected === null) {
          refuses(() => captured(x, mask, y).tolist(), kn.ShapeError, 'do not broadcast');
          continue;
        }
        const actual = captured(x, mask, y);
        near(actual.sum().item(), expected.sum().item());
        if (name !== 'in a loop') assert.deepEqual(actual.tolist(), expected.tolist());
      }
    }
  });
}

test('gradients of what is stretched because it turned out to have one element', () => {
  const loss: Selecting = (a, mask, y) => a.booleanMask(mask).mul(2).add(y).square().sum();
  const y = kn.array([10, 20, 30]);
  const gradients = (f: Selecting, mask: kn.NDArray): unknown[] =>
    kn
      .grad((a: kn.NDArray, b: kn.NDArray) => f(a, mask, b), [0, 1])(x, y)
      .map((g) => g.tolist());
  const twice = (f: Selecting, mask: kn.NDArray): unknown => {
    const slope = (a: kn.NDArray): kn.NDArray =>
      kn
        .grad((b: kn.NDArray) => f(b, mask, y))(a)
        .square()
        .sum();
    return kn.grad(slope)(x).tolist();
  };
  const hybrid = kn.hybridize(loss);
  for (const mask of masks.slice(0, 2)) {
    assert.deepEqual(gradients(hybrid, mask), gradients(loss, mask));
    assert.deepEqual(twice(hybrid, mask), twice(loss, mask));
    const whole = kn.hybridize((m: kn.NDArray) => kn.grad((a: kn.NDArray) => loss(a, m, y))(x));
    assert.deepEqual(whole(mask).tolist(), gradients(loss, mask)[0]);
  }
});

test('either of two sizes that the data decides may be 1', () => {
  const both = (m: kn.NDArray, n: kn.NDArray): kn.NDArray =>
    x.booleanMask(m).mul(x.booleanMask(n)).add(x.booleanMask(m));
  const hybrid = kn.hybridize(both);
  const [three, one, two, none] = masks;
  for (const [m, n] of [[three, bool([1, 1, 1, 0])], [one, bool([0, 0, 0, 1])], [two, two], [none, none], [two, one], [none, one], [one, two], [one, none]]) {
    assert.deepEqual(hybrid(m, n).tolist(), both(m, n).tolist());
  } // prettier-ignore
  refuses(() => hybrid(three, two), kn.ShapeError, 'do not broadcast', '[3] and [2]');
  refuses(() => hybrid(two, three), kn.ShapeError, 'do not broadcast', '[2] and [3]');
});

test('broadcastTo stretches to the size of another mask', () => {
  const stretched = (m: kn.NDArray, n: kn.NDArray): kn.NDArray => {
    const second = x.booleanMask(n);
    return x.booleanMask(m).broadcastTo(kn.shapeOf(second)).mul(second);
  };
  const [, one, two, none] = masks;
  const hybrid = kn.hybridize(stretched);
  for (const [m, n] of [[one, two], [one, none], [two, two]]) {
    assert.deepEqual(hybrid(m, n).tolist(), stretched(m, n).tolist());
  } // prettier-ignore
  refuses(() => hybrid(two, one), kn.ShapeError, 'broadcastTo', 'those of [1]', '[2]');
});

test('a branch whose size broadcasts in two ways', () => {
  const f = kn.hybridize((p: kn.NDArray, y: kn.NDArray) =>
    kn.cond(p, () => kn.ones([1, 1]), () => kn.arange(3).reshape([1, 3])).pad([[1, 0], [0, 0]]).add(y),
  ); // prettier-ignore
  const y = kn.array([10, 20, 30]);
  assert.deepEqual(f(kn.array(true), y).tolist(), [[10, 20, 30], [11, 21, 31]]); // prettier-ignore
  assert.deepEqual(f(kn.array(false), y).tolist(), [[10, 20, 30], [10, 21, 32]]); // prettier-ignore
});

test('factors and terms of a recurrence have the sizes that the data decides', () => {
  const product = (a: kn.NDArray, m: kn.NDArray): kn.NDArray =>
    a
      .booleanMask(m)
      .cumprod(0)
      .add(kn.array([1, 1, 1]));
  const gradient = (f: typeof product): unknown =>
    kn
      .grad((a: kn.NDArray) => f(a, masks[0]).sum())(x)
      .tolist();
  assert.deepEqual(gradient(kn.hybridize(product)), gradient(product));
});
