import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../src/index.js';
import { BareCall } from '../../../src/front/caches/bare-call.js';

const { autograd } = kn;
type Arrays = readonly kn.NDArray[];

const vector = (dtype: kn.DType = 'float32', length: number = 2): kn.NDArray =>
  kn.ones([length], { dtype });

function callOn(args: readonly unknown[]): BareCall {
  const call = BareCall.of(args);
  assert.ok(call !== null, 'a call on bare arrays');
  return call;
}

describe('calls on bare arrays', () => {
  it('are those on at most eight different computed arrays', () => {
    const arrays = Array.from({ length: 9 }, () => vector());
    assert.ok(BareCall.of([]) !== null);
    assert.ok(BareCall.of(arrays.slice(0, 8)) !== null);
    assert.equal(BareCall.of(arrays), null);
    const [x, y] = arrays;
    for (const args of [[x, 1], [undefined], [{ x }], [[x]], [x, x], [x, y, x], [y, x, x]]) {
      assert.equal(BareCall.of(args), null);
    }
    autograd.record(() => assert.ok(BareCall.of([x.add(y)]) !== null));
    kn.deferredCompute(() => {
      assert.equal(BareCall.of([x, x.add(y)]), null, 'not computed yet');
      return x;
    });
  });

  it('fit each other while every argument looks the same', () => {
    const call = callOn([vector(), vector('int32', 3)]);
    assert.ok(call.fits([vector(), vector('int32', 3)]), 'other arrays of the same types');
    const x = vector();
    const others: Readonly<Record<string, readonly unknown[]>> = {
      fewer: [x],
      more: [x, vector('int32', 3), x.add(1)],
      dtype: [vector('float64'), vector('int32', 3)],
      'shape of the last': [x, vector('int32', 4)],
      rank: [x.reshape([2, 1]), vector('int32', 3)],
      order: [vector('int32', 3), x],
      'no array': [x, 3],
    };
    for (const [name, args] of Object.entries(others)) assert.ok(!call.fits(args), name);
    const same = callOn([vector(), vector()]);
    assert.ok(same.fits([vector(), vector()]));
    assert.ok(!same.fits([x, x]), 'an array given twice');
  });

  it('fit while the gradients of all arguments are kept in the same way', () => {
    const ways = [undefined, 'write', 'add', 'null'] as const;
    const arrayWith = (req: (typeof ways)[number]): kn.NDArray => {
      const array = vector();
      if (req !== undefined) array.attachGrad({ req });
      return array;
    };
    for (const before of ways) {
      for (const now of ways) {
        for (const place of [0, 1]) {
          const args = (req: (typeof ways)[number]): Arrays => {
            const plain = [vector(), vector()];
            plain[place] = arrayWith(req);
            return plain;
          };
          assert.equal(callOn(args(before)).fits(args(now)), before === now, `${before}, ${now} at ${place}`); // prettier-ignore
        }
      }
    }
  });

  it('are remembered as they were before the call, which may attach gradients', () => {
    const x = vector();
    const call = callOn([x]);
    x.attachGrad();
    assert.ok(!call.fits([x]));
    assert.ok(call.fits([vector()]));
  });

  it('fit in the mode in which they were made', () => {
    const x = vector();
    const modes: readonly ((act: () => void) => void)[] = [
      (act) => act(),
      (act) => autograd.record(act),
      (act) => autograd.record(act, { trainMode: false }),
      (act) => autograd.trainMode(act),
    ];
    modes.forEach((made, i) => {
      let call: BareCall | undefined;
      made(() => {
        call = callOn([x]);
      });
      modes.forEach((used, k) => used(() => assert.equal(call!.fits([x]), i === k, `${i}, ${k}`)));
    });
  });
});

describe('the shortcut for calls like the one before', () => {
  /** Whatever the second call changes, verification does not happen to notice. */
  const options = { verify: 'off' } as const;

  it('is left where a gradient was attached since', () => {
    const step = kn.hybridize((x: kn.NDArray, w: kn.NDArray) => {
      autograd.record(() => x.mul(w).sum()).backward();
    }, options);
    const [x, w] = [kn.array([1, 2]), kn.array([3, 4])];
    w.attachGrad();
    step(x, w);
    step(x, w);
    assert.deepEqual(w.grad!.tolist(), [1, 2]);
    x.attachGrad();
    step(x, w);
    assert.deepEqual(x.grad!.tolist(), [3, 4]);
    x.attachGrad({ req: 'add' });
    step(x, w);
    step(x, w);
    assert.deepEqual(x.grad!.tolist(), [6, 8]);
    w.attachGrad({ req: 'null' });
    step(x, w);
    assert.equal(w.grad, null);
    assert.deepEqual(x.grad!.tolist(), [9, 12]);
  });

  it('is left where code attaches the gradient that it then uses', () => {
    const step = kn.hybridize((x: kn.NDArray) => {
      if (x.grad === null) x.attachGrad();
      else autograd.record(() => x.sum()).backward();
    }, options);
    const x = kn.array([1, 2]);
    step(x);
    assert.deepEqual(x.grad!.tolist(), [0, 0]);
    step(x);
    assert.deepEqual(x.grad!.tolist(), [1, 1]);
  });

  it('is left where modes differ, sizes differ, or an array is given twice', () => {
    const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.mul(y).sum(), options);
    const [x, y] = [kn.array([1, 2, 3]), kn.array([4, 5, 6])];
    for (let i = 0; i < 3; i++) assert.equal(f(x, y).item(), 32);
    assert.equal(f(x, x).item(), 14);
    assert.equal(f(kn.array([2]), kn.array([3])).item(), 6);
    x.attachGrad();
    for (let i = 0; i < 3; i++) f(x, y);
    autograd.record(() => f(x, y)).backward();
    assert.deepEqual(x.grad!.tolist(), [4, 5, 6]);
    const training = kn.hybridize((x: kn.NDArray) => x.add(autograd.isTraining() ? 1 : 0), options);
    assert.deepEqual(training(y).tolist(), [4, 5, 6]);
    assert.deepEqual(training(y).tolist(), [4, 5, 6]);
    autograd.trainMode(() => assert.deepEqual(training(y).tolist(), [5, 6, 7]));
  });
});
