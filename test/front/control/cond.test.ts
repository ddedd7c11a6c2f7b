import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

test('one branch runs, and gives its result as it is nested', () => {
  const ran: string[] = [];
  const choose = (x: kn.NDArray): unknown => {
    const { y, list } = kn.cond(
      x.greater(0),
      () => {
        ran.push('then');
        return { y: x.mul(2), list: [x] };
      },
      () => {
        ran.push('otherwise');
        return { y: x.neg(), list: [x.add(1)] };
      },
    );
    return [y.item(), list[0].item()];
  };
  assert.deepEqual([choose(kn.array(3)), choose(kn.array(-3))], [[6, 3], [3, -2]]); // prettier-ignore
  assert.deepEqual(ran, ['then', 'otherwise']);
});

test('the predicate may be a function, and of any rank', () => {
  const x = kn.array([[5]]);
  assert.equal(kn.cond(() => x.greater(1), () => x.sum(), () => x.mean()).item(), 5); // prettier-ignore
});

test('gradients flow through the branch that ran', () => {
  const f = (x: kn.NDArray): kn.NDArray =>
    kn.cond(
      x.greater(0),
      () => x.square(),
      () => x.mul(-3),
    );
  near([2, -2].map((x) => kn.grad(f)(kn.array(x)).item()), [4, -3]); // prettier-ignore
  near(kn.grad(kn.grad(f))(kn.array(2)).item(), 2);
});
