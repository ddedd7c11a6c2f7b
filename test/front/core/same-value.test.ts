import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeValue } from '../../../src/front/core/same-value.js';
import * as kn from '../../../src/index.js';

/** The elements of `v` where constants of captured code have a positive reciprocal. */
const pick = (v: kn.NDArray, constants: readonly number[]): kn.NDArray =>
  kn.booleanMask(v, kn.reciprocal(kn.array(constants)).greater(0));

/** Descriptions of arrays that captured code makes. */
function described(make: () => readonly kn.NDArray[]): readonly unknown[] {
  let found: readonly unknown[] = [];
  kn.hybridize((x: kn.NDArray) => {
    found = make().map(describeValue);
    return x;
  })(kn.array(1));
  return found;
}

test('constants of equal elements are equal, and of no others', () => {
  const [one, again, ...others] = described(() => [
    kn.array([1, -2, 3]),
    kn.array([1, -2, 3]),
    kn.array([1, -2, 4]),
    kn.array([1, -2, 3], { dtype: 'int32' }),
    kn.array([[1, -2, 3]]),
    kn.array([1, -2]),
    kn.array([0]),
    kn.array([-0]),
  ]);
  assert.equal(typeof one, 'string');
  assert.equal(one, again);
  const all = [one, ...others];
  assert.equal(new Set(all).size, all.length);
});

test('many elements are not compared', () => {
  const [few, many] = described(() => [16, 17].map((length) => kn.array(Array.from({ length }, (_, i) => i)))); // prettier-ignore
  assert.equal(typeof few, 'string');
  assert.equal(many, null);
});

test('selections by zeros of two signs have sizes of their own', () => {
  const f = (v: kn.NDArray): kn.NDArray => pick(v, [0, 0]).add(pick(v, [0, -0]));
  const v = kn.array([5, 7]);
  // The second selection is one element, which broadcasts.
  assert.deepEqual(f(v).tolist(), [10, 12]);
  assert.deepEqual(kn.hybridize(f)(v).tolist(), [10, 12]);
});
