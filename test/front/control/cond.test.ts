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

test('captured code runs each branch once, in order', () => {
  const ran: string[] = [];
  const choose = kn.hybridize(
    (x: kn.NDArray) =>
    kn.cond(x.greater(0), () => (ran.push('then'), x.mul(2)), () => (ran.push('otherwise'), x.neg())), // prettier-ignore
  );
  assert.deepEqual([choose(kn.array(3)).item(), choose.explain().traces.length], [6, 1]);
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

test('only the branch that is taken may refuse', () => {
  const f = (x: kn.NDArray, p: kn.NDArray): kn.NDArray =>
    kn.cond(p, () => kn.topK(x, 3).values.sum(), () => x.reshape([2, -1]).sum()); // prettier-ignore
  const captured = kn.hybridize(f, { dynamic: [['n'], null] });
  const rows = kn.hybridize(
    (x: kn.NDArray, p: kn.NDArray) => kn.foreach((bit: kn.NDArray) => [f(x, bit), []], p, [])[0],
    { dynamic: [['n'], null] },
  );
  for (const n of [4, 6, 3, 2, 5])
    for (const bit of [true, false]) {
      const x = kn.arange(n);
      const p = kn.array(bit);
      const calls = [() => captured(x, p).item(), () => rows(x, p.reshape([1])).item()];
      if (bit ? n < 3 : n % 2 > 0) {
        const refused = (run: () => unknown): string | undefined => {
          try {
            run();
          } catch (error) {
            return error instanceof kn.KaonError ? error.problem : String(error);
          }
          return undefined;
        };
        const expected = refused(() => f(x, p));
        assert.ok(expected !== undefined);
        for (const call of calls) assert.ok(refused(call)?.endsWith(expected));
      } else for (const call of calls) assert.equal(call(), f(x, p).item());
    }
  assert.equal(captured.explain().traces.length, 1);
});
