import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/* Arguments that are arrays which the captured code uses from outside. */

const refusal = {
  name: 'TraceError',
  message: /changes an array that it knows under two names.* is the captured array/s,
};

/** Calls of captured code, of which those with outer arrays are refused, compared with the code run plainly. */
function check(
  body: (outer: kn.NDArray) => (x: kn.NDArray) => kn.NDArray,
  order: readonly ('outer' | 'other')[],
  isRefused: boolean,
): void {
  const runs = [false, true].map((isCaptured) => {
    const outer = kn.array([1, 2]);
    const other = kn.array([5, 6]);
    const plain = body(outer);
    const fn = isCaptured ? kn.hybridize(plain) : plain;
    return { outer, other, fn };
  });
  const [eager, captured] = runs;
  for (const which of order) {
    const wanted = () => eager.fn(eager[which]).tolist();
    const found = () => captured.fn(captured[which]).tolist();
    if (which === 'outer' && isRefused) {
      const before = captured.outer.tolist();
      assert.throws(found, refusal);
      assert.deepEqual(captured.outer.tolist(), before, 'a refused call changes nothing');
      continue;
    }
    assert.deepEqual(found(), wanted());
    for (const each of ['outer', 'other'] as const) {
      assert.deepEqual(captured[each].tolist(), eager[each].tolist());
    }
  }
}

const orders = [
  ['other', 'outer', 'other', 'outer', 'other'],
  ['outer', 'outer', 'other', 'outer', 'other'],
] as const;

for (const order of orders) {
  const when = order.join(', ');

  test(`an argument that is an outer array which the code assigns is refused: ${when}`, () => {
    const body = (outer: kn.NDArray) => (x: kn.NDArray) => {
      outer.assign(x.add(1));
      return x.mul(2);
    };
    check(body, order, true);
  });

  test(`an argument that the code assigns is refused where it is an outer array: ${when}`, () => {
    const body = (outer: kn.NDArray) => (x: kn.NDArray) => {
      x.assign(x.add(1));
      return outer.mul(2);
    };
    check(body, order, true);
  });

  test(`an argument may be an outer array which the code only reads: ${when}`, () => {
    check((outer) => (x) => outer.mul(2).sub(x), order, false);
  });

  test(`an argument may be an outer array while the code assigns another: ${when}`, () => {
    const third = [kn.array([0, 0]), kn.array([0, 0])];
    const body = (outer: kn.NDArray) => {
      const count = third.pop()!;
      return (x: kn.NDArray) => {
        count.assign(count.add(1));
        return outer.mul(x).add(count);
      };
    };
    check(body, order, false);
  });
}

test('gradients that both names of an array would get are refused', () => {
  const outer = kn.array([1, 2]);
  const other = kn.array([5, 6]);
  for (const array of [outer, other]) array.attachGrad();
  const step = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => outer.mul(x).sum());
    loss.backward();
    return loss;
  });
  step(other);
  assert.deepEqual(outer.grad!.tolist(), [5, 6]);
  assert.deepEqual(other.grad!.tolist(), [1, 2]);
  assert.throws(() => step(outer), refusal);
});

test('an outer array with a gradient may be passed where only the use from outside has one', () => {
  const outer = kn.array([1, 2]);
  outer.attachGrad();
  const body = (x: kn.NDArray): kn.NDArray => {
    const loss = kn.autograd.record(() => outer.mul(x.detach()).sum());
    loss.backward();
    return loss;
  };
  const step = kn.hybridize(body);
  for (let call = 0; call < 3; call++) {
    assert.equal(step(outer).item(), 5);
    assert.deepEqual(outer.grad!.tolist(), [1, 2]);
  }
});
