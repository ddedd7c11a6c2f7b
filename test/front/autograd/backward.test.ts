import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

const { autograd } = kn;

function attached(values: readonly number[], req: kn.GradReq = 'write'): kn.NDArray {
  const x = kn.array(values);
  x.attachGrad({ req });
  return x;
}

test('attachGrad gives zeros at once, and resets', () => {
  const x = kn.array([1, 2]);
  assert.equal(x.grad, null);
  x.attachGrad();
  assert.deepEqual(x.grad!.tolist(), [0, 0]);
  autograd.record(() => x.sum()).backward();
  assert.deepEqual(x.grad!.tolist(), [1, 1]);
  x.attachGrad();
  assert.deepEqual(x.grad!.tolist(), [0, 0]);
  x.attachGrad({ req: 'null' });
  assert.equal(x.grad, null);
});

test('backward leaves the gradient on the array', () => {
  const x = attached([1, 2, 3]);
  const loss = autograd.record(() => x.mul(x).sum());
  loss.backward();
  assert.deepEqual(x.grad!.tolist(), [2, 4, 6]);
});

test('write sums the uses within a pass and discards earlier passes', () => {
  const x = attached([3]);
  const pass = (): void => autograd.record(() => x.mul(2).add(x.mul(5)).sum()).backward();
  pass();
  pass();
  assert.deepEqual(x.grad!.tolist(), [7]);
});

test('add accumulates', () => {
  const x = attached([3], 'add');
  for (let i = 0; i < 3; i++) autograd.record(() => x.mul(2).sum()).backward();
  assert.deepEqual(x.grad!.tolist(), [6]);
});

test('the gradient of one pass does not change with the next', () => {
  const x = attached([3]);
  autograd.record(() => x.mul(2).sum()).backward();
  const first = x.grad!;
  autograd.record(() => x.mul(5).sum()).backward();
  assert.deepEqual([first.tolist(), x.grad!.tolist()], [[2], [5]]);
});

test('arrays that took part without effect get zeros; others keep what they had', () => {
  const [x, unused, untouched] = [attached([1]), attached([1]), attached([1])];
  for (const each of [unused, untouched]) autograd.record(() => each.mul(4).sum()).backward();
  autograd
    .record(() => {
      unused.mul(3);
      return x.mul(2).sum();
    })
    .backward();
  assert.deepEqual(
    [x, unused, untouched].map((each) => each.grad!.tolist()),
    [[2], [0], [4]],
  );
});

test('add keeps what it has where nothing flows', () => {
  const [x, other] = [attached([1]), attached([1], 'add')];
  autograd.record(() => other.mul(4).sum()).backward();
  autograd
    .record(() => {
      other.mul(3);
      return x.sum();
    })
    .backward();
  assert.deepEqual(other.grad!.tolist(), [4]);
});

test('intermediates can have a gradient attached, and let it flow through', () => {
  const x = attached([2]);
  const [y, loss] = autograd.record(() => {
    const y = x.mul(3);
    y.attachGrad();
    return [y, y.mul(y).sum()] as const;
  });
  loss.backward();
  assert.deepEqual([y.grad!.tolist(), x.grad!.tolist()], [[12], [36]]);
});

test('a pass starts from ones, or from the head gradient', () => {
  const x = attached([1, 2]);
  autograd.record(() => x.mul(3)).backward();
  assert.deepEqual(x.grad!.tolist(), [3, 3]);
  const head = kn.array([10, 100]);
  const y = autograd.record(() => x.add(0));
  y.backward(head);
  assert.deepEqual(x.grad!.tolist(), [10, 100]);
  assert.notEqual(x.grad, head);
  const wrong = autograd.record(() => x.mul(3));
  refuses(() => wrong.backward(kn.array([1, 2, 3])), kn.ShapeError, 'head gradient', 'float32[2]');
  refuses(
    () => wrong.backward(kn.array([1, 2], { dtype: 'float64' })),
    kn.DTypeError,
    'head gradient',
  );
  refuses(() => wrong.backward(3 as never), kn.ArgumentError, 'not an array');
  wrong.backward();
});

test('a second backward needs retainGraph', () => {
  const x = attached([2]);
  const loss = autograd.record(() => x.mul(x).sum());
  loss.backward(undefined, { retainGraph: true });
  loss.backward();
  assert.deepEqual(x.grad!.tolist(), [4]);
  refuses(() => loss.backward(), kn.ArgumentError, 'already consumed', 'retainGraph');
  const later = autograd.record(() => loss.mul(x).sum());
  refuses(() => later.backward(), kn.ArgumentError, 'already consumed', 'detach');
});

test('two losses of one recording that share nothing each have their pass', () => {
  const [a, b] = [attached([1]), attached([1])];
  const [first, second] = autograd.record(() => [a.mul(2).sum(), b.mul(3).sum()] as const);
  first.backward();
  assert.deepEqual(a.grad!.tolist(), [2]);
  second.backward();
  assert.deepEqual(b.grad!.tolist(), [3]);
});

test('recordings connect: what one made, the next may use', () => {
  const x = attached([3]);
  const y = autograd.record(() => x.mul(x));
  const loss = autograd.record(() => y.mul(y).sum());
  loss.backward();
  assert.deepEqual(x.grad!.tolist(), [108]);
});

test('a backward that reaches nothing is an error', () => {
  const x = kn.array([1]);
  const loss = autograd.record(() => x.mul(2).sum());
  refuses(() => loss.backward(), kn.ArgumentError, 'reaches no array', 'attachGrad');
  refuses(() => kn.array([1]).backward(), kn.ArgumentError, 'not computed from recorded calls');
  const y = attached([1]);
  refuses(() => y.mul(2).backward(), kn.ArgumentError, 'not computed from recorded calls');
  refuses(
    () => autograd.record(() => autograd.pause(() => y.mul(2))).backward(),
    kn.ArgumentError,
    'not computed from recorded calls',
  );
});

test('gradients are of floats', () => {
  refuses(() => kn.array([1], { dtype: 'int32' }).attachGrad(), kn.DTypeError, 'floats', 'int32');
  const x = attached([1]);
  const count = autograd.record(() => x.greater(0).sum());
  refuses(() => count.backward(), kn.DTypeError, 'floats', 'int64');
  refuses(
    () => x.attachGrad({ req: 'always' as never }),
    kn.ArgumentError,
    'no such gradient request',
  );
});

test('recorded arrays may not be changed in place until the pass is over', () => {
  const x = attached([1]);
  const plain = kn.array([2]);
  const y = autograd.record(() => x.mul(plain));
  for (const array of [x, plain, y]) {
    refuses(() => array.assign(kn.array([5])), kn.ArgumentError, 'part of a recording');
  }
  y.backward();
  x.assign(kn.array([5]));
  plain.assign(kn.array([7]));
  assert.deepEqual([x.tolist(), plain.tolist(), x.grad!.tolist()], [[5], [7], [2]]);
});

test('state may be written in recorded code; the pass uses what was read', () => {
  const x = attached([1]);
  const state = kn.array([2]);
  state.attachGrad({ req: 'null' });
  const loss = autograd.record(() => {
    const y = x.mul(state);
    state.assign(kn.array([100]));
    return y.sum();
  });
  loss.backward();
  assert.deepEqual([x.grad!.tolist(), state.tolist()], [[2], [100]]);
});

test('detach and pause cut the gradient', () => {
  const x = attached([3]);
  autograd.record(() => x.mul(x.detach()).sum()).backward();
  assert.deepEqual(x.grad!.tolist(), [3]);
  autograd.record(() => x.mul(autograd.pause(() => x.mul(2))).sum()).backward();
  assert.deepEqual(x.grad!.tolist(), [6]);
});

test('the modes nest and end', () => {
  const seen = (): [boolean, boolean] => [autograd.isRecording(), autograd.isTraining()];
  assert.deepEqual(seen(), [false, false]);
  autograd.record(() => {
    assert.deepEqual(seen(), [true, true]);
    autograd.pause(() => assert.deepEqual(seen(), [false, false]));
    autograd.pause(() => assert.deepEqual(seen(), [false, true]), { trainMode: true });
    autograd.predictMode(() => assert.deepEqual(seen(), [true, false]));
    assert.deepEqual(seen(), [true, true]);
  });
  autograd.record(() => assert.deepEqual(seen(), [true, false]), { trainMode: false });
  autograd.trainMode(() => assert.deepEqual(seen(), [false, true]));
  assert.throws(
    () =>
      autograd.record(() => {
        throw new RangeError('mine');
      }),
    RangeError,
  );
  assert.deepEqual(seen(), [false, false]);
});

test('an asynchronous function cannot be recorded', () => {
  refuses(
    () => autograd.record(async () => kn.array([1])),
    kn.ArgumentError,
    'asynchronous',
    'await data before',
  );
});

test('mixed dtypes keep the gradient of each operand in its own dtype', () => {
  const [x, y] = [kn.array([2], { dtype: 'float32' }), kn.array([3], { dtype: 'float64' })];
  x.attachGrad();
  y.attachGrad();
  autograd.record(() => x.mul(y).sum()).backward();
  assert.deepEqual([x.grad!.dtype, y.grad!.dtype], ['float32', 'float64']);
  near([x.grad!.item(), y.grad!.item()], [3, 2]);
});

test('sizes 0 and 1', () => {
  const empty = kn.zeros([0, 3]);
  empty.attachGrad();
  autograd.record(() => empty.mul(2).sum()).backward();
  assert.deepEqual(empty.grad!.shape, [0, 3]);
  const scalar = kn.array(2);
  scalar.attachGrad();
  autograd.record(() => scalar.mul(scalar)).backward();
  assert.equal(scalar.grad!.item(), 4);
});
