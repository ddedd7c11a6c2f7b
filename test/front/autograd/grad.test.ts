import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { differences, near, refuses } from '../support.js';

const { autograd } = kn;

test('autograd.grad returns gradients and leaves attached ones alone', () => {
  const x = kn.array([1, 2]);
  x.attachGrad();
  const w = kn.array([3, 4]);
  const y = autograd.record(() => x.mul(w).sum());
  const [gx, gw] = autograd.grad(y, [x, w]);
  assert.deepEqual(
    [gx.tolist(), gw.tolist(), x.grad!.tolist()],
    [
      [3, 4],
      [1, 2],
      [0, 0],
    ],
  );
});

test('it takes several heads, head gradients, and bare arrays', () => {
  const x = kn.array([2]);
  const [a, b] = autograd.record(() => [x.mul(x), x.mul(5)] as const);
  const g = autograd.grad([a, b], x, { headGrads: [kn.array([10]), null], retainGraph: true });
  assert.deepEqual(g.tolist(), [45]);
  assert.deepEqual(autograd.grad([a, b], x).tolist(), [9]);
});

test('zeros where nothing depends, an error for what took no part', () => {
  const [x, used, stranger] = [kn.array([1]), kn.array([1]), kn.array([1])];
  const y = autograd.record(() => {
    used.mul(2);
    return x.mul(3).sum();
  });
  const [, zero] = autograd.grad(y, [x, used], { retainGraph: true });
  assert.deepEqual(zero.tolist(), [0]);
  refuses(() => autograd.grad(y, [stranger]), kn.ArgumentError, 'took no part', 'array 0');
  refuses(
    () => autograd.grad(y, [x], { headGrads: [kn.array(1), kn.array(1)] }),
    kn.ArgumentError,
    'one head gradient for each y',
  );
  refuses(() => autograd.grad([], [x]), kn.ArgumentError, 'nothing to differentiate');
  refuses(
    () => autograd.grad(3 as never, [x]),
    kn.ArgumentError,
    'not an array',
    'of a parameter its value',
  );
});

test('what is made of no array is no recorded computation, captured or not', () => {
  const made: Record<string, () => kn.NDArray> = {
    zeros: () => kn.zeros([]),
    full: () => kn.full([2], 3),
    arange: () => kn.arange(0, 3, 1, { dtype: 'float32' }),
    eye: () => kn.eye(2),
  };
  for (const [name, make] of Object.entries(made)) {
    const slope = (x: kn.NDArray): kn.NDArray => {
      const y = autograd.record(() => (x.mul(2), make()));
      return autograd.grad(y, x);
    };
    for (const run of [slope, kn.hybridize(slope)]) {
      refuses(() => run(kn.ones([1])), kn.ArgumentError, 'not computed from recorded calls');
      const sum = (x: kn.NDArray): kn.NDArray =>
        autograd.grad(autograd.record(() => (x.mul(2), make().sum())), x); // prettier-ignore
      assert.deepEqual((run === slope ? sum : kn.hybridize(sum))(kn.ones([1])).tolist(), [0], name);
    }
  }
});

test('createGraph makes gradients that can be differentiated', () => {
  const x = kn.array([2, 3], { dtype: 'float64' });
  const second = autograd.record(() => {
    const y = x.pow(4).sum();
    const g = autograd.grad(y, x, { createGraph: true });
    return autograd.grad(g.sum(), x, { createGraph: true });
  });
  near(second.tolist(), [48, 108], 1e-12);
  near(autograd.grad(second, x).tolist(), [48, 72], 1e-12);
});

test('gradients that are the same array can be differentiated apart, and are no head gradient', () => {
  // The gradient of (a + b)^2 is 2 (a + b) for both, so that of c da + d db is 2 (c + d) for both.
  const [a, b, head] = [kn.array(0.3), kn.array(0.4), kn.array(1)];
  const weighted = ([da, db]: readonly kn.NDArray[]): kn.NDArray => da.mul(2).add(db.mul(7));
  const square = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => x.add(y).square();
  const second = kn.grad(
    (x: kn.NDArray, y: kn.NDArray) => weighted(kn.grad(square, [0, 1])(x, y)),
    [0, 1],
  );
  const named = (): kn.NDArray[] => {
    const loss = autograd.record(() => {
      const y = square(a, b);
      return weighted(autograd.grad(y, [a, b], { createGraph: true, headGrads: head }));
    });
    return autograd.grad(loss, [a, b]);
  };
  const outside = (): kn.NDArray[] => {
    const y = autograd.record(() => square(a, b));
    const [, db] = autograd.grad(y, [a, b], { createGraph: true });
    return autograd.grad(db, [a, b], { headGrads: kn.array(9) });
  };
  for (const found of [second(a, b), kn.hybridize(second)(a, b), named(), outside()]) {
    near(
      found.map((each) => each.item()),
      [18, 18],
    );
  }
  const y = autograd.record(() => a.add(b));
  const [da, db] = autograd.grad(y, [a, b], { headGrads: head });
  da.assign(kn.array(5));
  assert.deepEqual([head.item(), db.item()], [1, 1]);
});

test('gradients of constant gradients are zeros, of any order, inside of a recording and after it', () => {
  const functions: Record<string, { f: (x: kn.NDArray) => kn.NDArray; first: number }> = {
    identity: { f: (x) => x.add(1), first: 1 },
    scaled: { f: (x) => x.mul(3).sum(), first: 3 },
    jump: { f: (x) => x.floor(), first: 0 },
    loop: { f: (x) => kn.foreach((row, s) => [row, s], x, [])[0], first: 1 },
    square: { f: (x) => x.square().mul(0.5), first: 1.5 },
  };
  for (const [name, { f, first }] of Object.entries(functions)) {
    const orders = (y: kn.NDArray, x: kn.NDArray): kn.NDArray[] => {
      const found: kn.NDArray[] = [];
      for (let g = y; found.length < 4; found.push(g)) {
        g = autograd.grad(g, x, { createGraph: true });
      }
      return found;
    };
    const inside = (x: kn.NDArray): kn.NDArray[] => autograd.record(() => orders(f(x), x));
    const after = (x: kn.NDArray): kn.NDArray[] => {
      return orders(
        autograd.record(() => f(x)),
        x,
      );
    };
    for (const run of [inside, after, kn.hybridize(inside)]) {
      const found = run(kn.array([1.5])).map((g) => g.tolist());
      assert.deepEqual(found, [[first], [name === 'square' ? 1 : 0], [0], [0]], name);
    }
  }
});

test('kn.grad is the derivative, of any order', () => {
  const at = [0.3, -1.2, 2];
  const f = (x: kn.NDArray): kn.NDArray => x.sin().mul(x.exp()).sum();
  const x = kn.array(at, { dtype: 'float64' });
  near(kn.grad(f)(x).tolist(), differences(f, at), 1e-8);
  const df = (y: kn.NDArray): kn.NDArray => kn.grad(f)(y).sum();
  near(kn.grad(df)(x).tolist(), differences(df, at), 1e-8);
  near(
    kn
      .grad(kn.grad(kn.grad((y: kn.NDArray) => y.pow(5))))(kn.array(2))
      .item(),
    240,
  );
});

test('an inner gradient does not see the outer variable as its own', () => {
  const f = (x: kn.NDArray): kn.NDArray => x.mul(kn.grad((y: kn.NDArray) => x.add(y))(x));
  assert.equal(kn.grad(f)(kn.array(3)).item(), 1);
  const g = (x: kn.NDArray): kn.NDArray => kn.grad((y: kn.NDArray) => y.mul(x).mul(y))(x);
  near(kn.grad(g)(kn.array(3)).item(), 12);
});

test('what was recorded before is constant, even where a pass has used it up; what the function records is not', () => {
  const after = (use: (y: kn.NDArray) => kn.NDArray): kn.NDArray =>
    autograd.record(() => {
      const x = kn.array([1, 2]);
      x.attachGrad();
      const y = x.mul(3);
      y.sum().backward();
      return use(y);
    });
  const square = kn.grad((z: kn.NDArray) => z.square().sum());
  const uses: Record<string, (y: kn.NDArray) => kn.NDArray> = {
    argument: square,
    'outer array': (y) => kn.grad((z: kn.NDArray) => z.mul(y).mul(2).sum())(kn.ones([2])),
    'outer result': (y) =>
      kn
        .grad((z: kn.NDArray) => (z.size > 0 ? y : z))(kn.ones([2]))
        .add(y.mul(2)),
    loop: (y) => kn.foreach((row, s) => [square(row), s], y, [])[0],
  };
  for (const [name, use] of Object.entries(uses)) {
    assert.deepEqual(after(use).tolist(), [6, 12], name);
    assert.deepEqual(
      kn
        .hybridize(() => after(use))()
        .tolist(),
      [6, 12],
      name,
    );
  }
  const usesUp = (z: kn.NDArray): kn.NDArray => {
    const y = z.mul(3);
    y.sum().backward();
    return y.mul(z);
  };
  refuses(() => kn.grad(usesUp)(kn.ones([2])), kn.ArgumentError, 'consumed', 'retainGraph');
});

test('argnums, trees and the value', () => {
  const f = (a: kn.NDArray, b: kn.NDArray): kn.NDArray => a.mul(b).sum();
  const [a, b] = [kn.array([1, 2]), kn.array([3, 4])];
  assert.deepEqual(kn.grad(f, 1)(a, b).tolist(), [1, 2]);
  const [value, [ga, gb]] = kn.valueAndGrad(f, [0, 1])(a, b);
  assert.deepEqual([value.item(), ga.tolist(), gb.tolist()], [11, [3, 4], [1, 2]]);
  const tree = kn.grad((p: { w: kn.NDArray; rest: kn.NDArray[] }) => p.w.mul(p.rest[0]).sum());
  const grads = tree({ w: a, rest: [b, kn.array([9])] });
  assert.deepEqual(
    [grads.w.tolist(), grads.rest.map((g) => g.tolist())],
    [
      [3, 4],
      [[1, 2], [0]],
    ],
  );
  refuses(() => kn.grad(f, 2)(a, b), kn.ArgumentError, 'no argument 2');
  refuses(
    () => kn.grad((() => 3) as never)(a as never),
    kn.ArgumentError,
    'must return one array',
    '3',
  );
});

test('a constant function has a gradient of zeros', () => {
  assert.deepEqual(
    kn
      .grad((x: kn.NDArray) => kn.onesLike(x.detach()).sum())(kn.array([1, 2]))
      .tolist(),
    [0, 0],
  );
  const constant: (x: kn.NDArray) => kn.NDArray = () => kn.array(3);
  assert.deepEqual(
    kn
      .grad(constant)(kn.array([1, 2]))
      .tolist(),
    [0, 0],
  );
});

test('the functional forms leave recordings and attached gradients as they are', () => {
  const x = kn.array([2]);
  x.attachGrad();
  const loss = autograd.record(() => {
    const g = kn.grad((y: kn.NDArray) => y.pow(3).sum())(x);
    return g.mul(x).sum();
  });
  loss.backward();
  near(x.grad!.tolist(), [36]);
  assert.ok(!autograd.isRecording());
});

test('customGradient uses the given rule, also for gradients of gradients', () => {
  const f = kn.customGradient({
    forward: (x) => x.mul(2),
    backward: ([g], { inputs: [x], outputs: [y] }) => [g.mul(x).mul(y)],
  });
  const x = kn.array([3]);
  assert.deepEqual(
    kn
      .grad((v: kn.NDArray) => f(v).sum())(x)
      .tolist(),
    [18],
  );
  // The rule is 2 x^2; its derivative sees y = f(x) through the custom rule again: x * dy + y.
  const second = kn.grad(kn.grad((v: kn.NDArray) => f(v).sum()))(x);
  assert.deepEqual(second.tolist(), [3 * 18 + 6]);
  assert.deepEqual(f(x).tolist(), [6]);
});

test('customGradient with several inputs, nested results and null', () => {
  const f = kn.customGradient({
    forward: (a, b) => ({ sum: a.add(b), product: a.mul(b) }),
    backward: ([gs, gp], { inputs: [a] }) => [gs.mul(10).add(gp.mul(a)), null],
  });
  const [a, b] = [kn.array([2]), kn.array([5])];
  const loss = autograd.record(() => f(a, b).product.sum());
  const [ga, gb] = autograd.grad(loss, [a, b]);
  assert.deepEqual([ga.tolist(), gb.tolist()], [[2], [0]]);
});

test('customGradient names what a rule did wrong', () => {
  const through =
    (backward: kn.CustomGradient<kn.NDArray>['backward']): (() => void) =>
    () => {
      const x = kn.array([1]);
      x.attachGrad();
      autograd
        .record(() =>
          kn
            .customGradient({ forward: (v) => v.mul(2), backward })(x)
            .sum(),
        )
        .backward();
    };
  refuses(
    through(() => []),
    kn.ArgumentError,
    'a gradient for each input',
  );
  refuses(
    through(() => [3 as never]),
    kn.ArgumentError,
    'gradient 0 is not an array',
  );
  refuses(
    through(() => [kn.array([1, 2])]),
    kn.ShapeError,
    'gradient 0 has another type',
  );
  refuses(
    () => kn.customGradient({ forward: (v) => v, backward: ([g]) => g })(3 as never),
    kn.ArgumentError,
    'input 0 is not an array',
  );
});

test('checkpoint gives the same values and gradients', () => {
  const w = kn.array([0.5, -1], { dtype: 'float64' });
  w.attachGrad();
  const inside = (x: kn.NDArray): { y: kn.NDArray } => ({ y: x.mul(w).tanh().mul(w) });
  const run = (f: typeof inside): unknown[] => {
    const x = kn.array([1, 2], { dtype: 'float64' });
    x.attachGrad();
    const loss = autograd.record(() => f(x).y.mul(x).sum());
    loss.backward();
    return [loss.item(), x.grad!.tolist(), w.grad!.tolist()];
  };
  near(run(kn.checkpoint(inside)), run(inside), 1e-14);
});

test('checkpoint replays the same random numbers and nests in gradients of gradients', () => {
  const f = kn.checkpoint((x: kn.NDArray) =>
    x.mul(kn.random.bernoulli([64], { dtype: 'float32' })),
  );
  const x = kn.ones([64]);
  x.attachGrad();
  kn.random.seed(6);
  const y = autograd.record(() => f(x));
  const after = kn.random.getState();
  y.backward();
  assert.deepEqual(x.grad!.tolist(), y.tolist());
  assert.deepEqual(kn.random.getState(), after);
  const cube = kn.checkpoint((v: kn.NDArray) => v.pow(3));
  near(
    kn
      .grad(kn.grad((v: kn.NDArray) => cube(v)))(kn.array(2))
      .item(),
    12,
  );
});
