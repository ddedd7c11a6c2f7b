import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { differences, near } from '../front/support.js';
import { eachForm, inEveryFormWithGradients } from './forms.js';
import { refused } from './refusals.js';

/* The section "Gradients" of the public contract and its small print, line by line. */

const { autograd } = kn;

/** A function as it is, and as a compiled graph that has been through its checked second call. */
function bothWays(line: string, check: (wrap: <F extends (...args: never[]) => unknown>(fn: F) => F) => void): void {
  void test(`${line}: eager`, () => check((fn) => fn));
  void test(`${line}: hybridized`, () => check((fn) => kn.hybridize(fn)));
} // prettier-ignore

function leaf(values: number | readonly number[], req?: kn.GradReq): kn.NDArray {
  const x = kn.array(values as number[]);
  x.attachGrad(req === undefined ? {} : { req });
  return x;
}

bothWays('x.attachGrad(), record(...), loss.backward(), x.grad', (wrap) => {
  const x = leaf([1, 2, 3]);
  const f = wrap((v: kn.NDArray) => v.mul(v).sum());
  for (let i = 0; i < 3; i++) {
    const loss = autograd.record(() => f(x));
    loss.backward();
    assert.deepEqual([loss.item(), x.grad!.tolist()], [14, [2, 4, 6]]);
  }
});

test("attachGrad({ req: 'write' | 'add' | 'null' }), default 'write'; anything else is refused", () => {
  const x = kn.array([1]);
  refused(() => x.attachGrad({ req: 'sum' as never }), { kind: kn.ArgumentError, op: 'attachGrad', says: 'gradient request' }, [x]); // prettier-ignore
  assert.equal(x.grad, null);
  const i = kn.array([1], { dtype: 'int32' });
  refused(() => i.attachGrad(), { kind: kn.DTypeError, op: 'attachGrad', says: 'floats' }, [i]);
});

inEveryFormWithGradients('loss.backward(headGrad?): gradients flow with the weights they start from', {
  inputs: () => ({ x: kn.array([1, 2, 3]), y: kn.array([4, 5, 6]) }),
  code: ({ x, y }) => [x.mul(y), x.square().sum(), y.exp().mul(0)],
  gives: [[4, 10, 18], 14, [0, 0, 0]],
  gradients: { x: [6, 9, 12], y: [1, 2, 3] },
}); // prettier-ignore

bothWays('loss.backward(headGrad?, { retainGraph })', (wrap) => {
  const x = leaf([1, 2]);
  const f = wrap((v: kn.NDArray) => v.mul(v));
  const y = autograd.record(() => f(x));
  y.backward(kn.array([10, 1]), { retainGraph: true });
  assert.deepEqual(x.grad!.tolist(), [20, 4]);
  y.backward(kn.array([1, 10]));
  assert.deepEqual(x.grad!.tolist(), [2, 40]);
});

test('a head gradient has the shape and dtype of what it belongs to', () => {
  const x = leaf([1, 2]);
  const y = autograd.record(() => x.mul(2));
  refused(() => y.backward(kn.ones([3])), { kind: kn.ShapeError, op: 'backward', says: 'head gradient' }, [x]); // prettier-ignore
  refused(() => y.backward(kn.ones([2], { dtype: 'float64' })), { kind: kn.DTypeError, op: 'backward', says: 'head gradient' }, [x]); // prettier-ignore
  refused(() => y.backward([1, 1] as never), { kind: kn.ArgumentError, op: 'backward', says: 'not an array' }, [x]); // prettier-ignore
  y.backward();
  assert.deepEqual(x.grad!.tolist(), [2, 2], 'a refused pass uses nothing up');
});

bothWays('autograd.grad(ys, xs, { headGrads, createGraph, retainGraph }): arrays in, arrays out', (wrap) => {
  const [x, w] = [kn.array([1, 2]), kn.array([3, 4])];
  x.attachGrad();
  w.attachGrad();
  const f = wrap((a: kn.NDArray, b: kn.NDArray) => [a.mul(b), a.square()]);
  const [y, z] = autograd.record(() => f(x, w));
  const [dx, dw] = autograd.grad([y, z], [x, w], {
    headGrads: [kn.array([1, 10]), null],
    retainGraph: true,
  });
  assert.deepEqual([dx.tolist(), dw.tolist()], [[3 + 2, 40 + 4], [1, 20]]);
  assert.deepEqual(autograd.grad(z, x).tolist(), [2, 4]);
  assert.deepEqual([x.grad!.tolist(), w.grad!.tolist()], [[0, 0], [0, 0]], 'attached ones are left alone');
}); // prettier-ignore

bothWays('createGraph: gradients of gradients, of any order', (wrap) => {
  const x = kn.array(2, { dtype: 'float64' });
  x.attachGrad();
  const f = wrap((v: kn.NDArray) => v.pow(5));
  const third = autograd.record(() => {
    const first = autograd.grad(f(x), x, { createGraph: true });
    const second = autograd.grad(first, x, { createGraph: true });
    return autograd.grad(second, x, { createGraph: true });
  });
  near(third.item(), 60 * 4, 1e-12);
  third.backward();
  near(x.grad!.item(), 120 * 2, 1e-12);
});

bothWays('kn.grad(f, argnums?) kn.valueAndGrad(f, argnums?): functional; nest freely', (wrap) => {
  const f = wrap((x: kn.NDArray, y: kn.NDArray) => x.mul(x).mul(y).sum());
  const [x, y] = [kn.array(3), kn.array(5)];
  assert.equal(kn.grad(f)(x, y).item(), 30);
  assert.equal(kn.grad(f, 1)(x, y).item(), 9);
  assert.deepEqual(kn.grad(f, [0, 1])(x, y).map((g) => g.item()), [30, 9]); // prettier-ignore
  const [value, gradient] = kn.valueAndGrad(f)(x, y);
  assert.deepEqual([value.item(), gradient.item()], [45, 30]);
  assert.deepEqual(kn.grad(f, [1, 0, 1])(x, y).map((g) => g.item()), [9, 30, 9]); // prettier-ignore
  assert.equal(kn.grad(kn.grad(f), 1)(x, y).item(), 6);
  assert.equal(wrap(kn.grad(kn.grad(f, 1)))(x, y).item(), 6);
});

test('kn.grad: there is no such argument; the function must return one array', () => {
  const x = kn.array([1]);
  const f = (v: kn.NDArray): kn.NDArray => v.mul(2);
  refused(() => kn.grad(f, 1 as 0)(x), { kind: kn.ArgumentError, op: 'kn.grad', says: 'no argument 1' }, [x]); // prettier-ignore
  refused(() => kn.grad((v: kn.NDArray) => [v] as never)(x), { kind: kn.ArgumentError, op: 'kn.grad', says: 'return one array', lacks: ['expected'] }, [x]); // prettier-ignore
});

bothWays('autograd.pause(fn): no gradients, and no training mode unless { trainMode: true }', (wrap) => {
  const seen: unknown[] = [];
  const f = wrap((x: kn.NDArray) => {
    const constant = autograd.pause(() => {
      seen.push([autograd.isRecording(), autograd.isTraining()]);
      return x.mul(10);
    });
    autograd.pause(() => seen.push([autograd.isRecording(), autograd.isTraining()]), { trainMode: true });
    seen.push([autograd.isRecording(), autograd.isTraining()]);
    return x.mul(constant);
  });
  const x = leaf([3]);
  autograd.record(() => f(x)).backward();
  assert.deepEqual(x.grad!.tolist(), [30]);
  assert.deepEqual(seen, [[false, false], [false, true], [true, true]]);
}); // prettier-ignore

bothWays('autograd.pause(fn): its result is a constant as a result, too', (wrap) => {
  const f = wrap((v: kn.NDArray) => ({ y: v.mul(2), aux: autograd.pause(() => v.square()) }));
  const x = leaf([3]);
  for (let i = 0; i < 3; i++) {
    autograd
      .record(() => {
        const { y, aux } = f(x);
        return y.add(aux);
      })
      .backward();
    assert.deepEqual(x.grad!.tolist(), [2]);
  }
});

bothWays('`record` turns training mode on unless `{ trainMode: false }`; trainMode(fn) predictMode(fn) isRecording() isTraining()', (wrap) => {
  const f = wrap((x: kn.NDArray) => x.mul((autograd.isTraining() ? 2 : 1) + (autograd.isRecording() ? 10 : 0)));
  const x = kn.array([1]);
  for (let i = 0; i < 2; i++) {
    assert.equal(f(x).item(), 1);
    assert.equal(autograd.record(() => f(x)).item(), 12);
    assert.equal(autograd.record(() => f(x), { trainMode: false }).item(), 11);
    assert.equal(autograd.trainMode(() => f(x)).item(), 2);
    assert.equal(autograd.record(() => autograd.predictMode(() => f(x))).item(), 11);
  }
  assert.deepEqual([autograd.isRecording(), autograd.isTraining()], [false, false]);
}); // prettier-ignore

bothWays('kn.grad: training mode as in `record`; inside of a recording the mode of the caller', (wrap) => {
  const slope = kn.grad((x: kn.NDArray) => x.mul(autograd.isTraining() ? 2 : 1).sum());
  const f = wrap((x: kn.NDArray) => slope(x));
  const x = kn.array([1]);
  for (let i = 0; i < 3; i++) {
    assert.equal(f(x).item(), 2);
    assert.equal(autograd.record(() => f(x)).item(), 2);
    assert.equal(autograd.record(() => f(x), { trainMode: false }).item(), 1);
    assert.equal(autograd.record(() => autograd.predictMode(() => f(x))).item(), 1);
  }
}); // prettier-ignore

test('a recording ends when its code throws: arrays may be changed again, and other recordings go on', () => {
  const [x, y] = [leaf([3]), leaf([5])];
  const failing = (): unknown =>
    autograd.record(() => {
      x.mul(x).sum();
      throw new RangeError('enough');
    });
  assert.throws(failing, RangeError);
  x.assign(kn.array([4]));
  const sum = autograd.record(() => {
    const part = x.mul(y);
    assert.throws(failing, RangeError);
    return part.sum();
  });
  assert.throws(() => x.assign(kn.array([1])), kn.ArgumentError);
  sum.backward();
  assert.deepEqual([x.grad!.tolist(), y.grad!.tolist()], [[5], [4]]);
  x.assign(kn.array([1]));
});

inEveryFormWithGradients('x.detach(): the same elements as a constant', {
  inputs: () => ({ x: kn.array([2, 3]) }),
  code: ({ x }) => x.mul(x.detach()).mul(x.mul(2).detach()),
  gives: [16, 54],
  gradients: { x: [8, 18] },
});

inEveryFormWithGradients('kn.customGradient({ forward, backward })', {
  inputs: () => ({ x: kn.array([2, 3]), y: kn.array([5, 7]) }),
  code: ({ x, y }) =>
    kn.customGradient({
      forward: (a, b) => ({ product: a.mul(b), sum: a.add(b) }),
      backward: ([product, sum], { inputs: [a], outputs: [made] }) => [
        product.mul(made).add(sum.mul(100)),
        product.mul(a).mul(1000),
      ],
    })(x, y),
  gives: { product: [10, 21], sum: [7, 10] },
  gradients: { x: [110, 121], y: [2000, 3000] },
});

bothWays('customGradient: `backward(outGrads, { inputs, outputs })` returns the input gradients in order (null for none) and is itself differentiable', (wrap) => {
  const custom = kn.customGradient({
    forward: (a, b) => a.mul(b),
    backward: ([g], { inputs: [a] }) => [g.mul(a.square()), null],
  });
  const f = wrap((a: kn.NDArray, b: kn.NDArray) => custom(a, b));
  const [a, b] = [kn.array([3]), kn.array([4])];
  assert.deepEqual(kn.grad(f, [0, 1])(a, b).map((g) => g.tolist()), [[9], [0]]);
  assert.deepEqual(kn.grad(kn.grad(f))(a, b).tolist(), [6]);
}); // prettier-ignore

test('customGradient: a rule with another number of gradients, another type, or no array is refused', () => {
  const x = leaf([1, 2]);
  const rule = (backward: () => never) =>
    autograd.record(() => kn.customGradient({ forward: (a) => a.mul(2), backward })(x));
  const op = 'customGradient';
  const lacks = ['expected'] as const;
  for (const [grads, refusal] of [
    [[x, x], { kind: kn.ArgumentError, op, says: 'for each input' }],
    [[kn.ones([3])], { kind: kn.ShapeError, op, says: 'another type' }],
    [[kn.ones([2], { dtype: 'float64' })], { kind: kn.DTypeError, op, says: 'another type' }],
    [[1], { kind: kn.ArgumentError, op, says: 'not an array', lacks }],
  ] as const) {
    const y = rule(() => grads as never);
    refused(() => y.backward(), refusal, [x]);
  }
  refused(() => kn.customGradient({ forward: (a) => a, backward: () => [] })(1 as never), { kind: kn.ArgumentError, op, says: 'input 0 is not an array' }); // prettier-ignore
});

inEveryFormWithGradients('kn.checkpoint(fn): the same values and gradients, with the same random numbers', {
  inputs: (n) => ({ x: kn.arange(1, n + 1), w: kn.array(2) }),
  code: ({ x, w }) => {
    const inner = kn.checkpoint((v: kn.NDArray) => v.mul(w).sin().mul(kn.random.uniform([1])));
    return inner(inner(x)).exp();
  },
  axes: { x: ['n'] },
}); // prettier-ignore

bothWays(
  'kn.checkpoint(fn): state is written once, and the pass sees what the call saw',
  (wrap) => {
    const count = leaf([0], 'null');
    const f = wrap(
      kn.checkpoint((v: kn.NDArray) => {
        count.assign(count.add(1));
        return v.mul(count);
      }),
    );
    const x = leaf([3]);
    for (let i = 1; i < 4; i++) {
      autograd.record(() => f(x)).backward();
      assert.deepEqual([count.tolist(), x.grad!.tolist()], [[i], [i]]);
    }
  },
);

bothWays("customGradient: an error of the rule is the user's own", (wrap) => {
  const own = new RangeError('mine');
  const wrong = [
    () => { throw own; },
    () => kn.ones([2]).add(kn.ones([3])),
  ]; // prettier-ignore
  const x = leaf([3]);
  for (const backward of wrong) {
    const rule = kn.customGradient({ forward: (a) => a.mul(2), backward });
    const f = wrap((v: kn.NDArray) => rule(v));
    const act = (): void => autograd.record(() => f(x)).backward();
    if (backward === wrong[0]) assert.throws(act, own);
    else refused(act, { kind: kn.ShapeError, op: 'add', says: 'do not broadcast' });
    assert.deepEqual([autograd.isRecording(), x.grad!.tolist()], [false, [0]]);
  }
});

bothWays('`write` discards earlier passes but sums all uses within one', (wrap) => {
  const x = leaf([1, 2]);
  const f = wrap((v: kn.NDArray) => v.mul(3).add(v.mul(4)).sum());
  for (let i = 0; i < 2; i++) autograd.record(() => f(x).add(f(x))).backward();
  assert.deepEqual(x.grad!.tolist(), [14, 14]);
});

bothWays('`add` accumulates', (wrap) => {
  const x = leaf([1, 2], 'add');
  const f = wrap((v: kn.NDArray) => v.square().sum());
  for (let i = 0; i < 3; i++) autograd.record(() => f(x)).backward();
  assert.deepEqual(x.grad!.tolist(), [6, 12]);
  x.attachGrad({ req: 'add' });
  assert.deepEqual(x.grad!.tolist(), [0, 0]);
});

bothWays('`null` keeps none, and lets no gradient through', (wrap) => {
  const [x, w] = [leaf([1, 2], 'null'), leaf([3, 4])];
  const f = wrap((v: kn.NDArray, u: kn.NDArray) => v.mul(u).sum());
  autograd.record(() => f(x, w)).backward();
  assert.deepEqual([x.grad, w.grad!.tolist()], [null, [1, 2]]);
});

bothWays('A second `backward` without `retainGraph` is an error', (wrap) => {
  const x = leaf([1, 2]);
  const f = wrap((v: kn.NDArray) => v.square().sum());
  const y = autograd.record(() => f(x));
  y.backward();
  const lacks = ['expected'] as const;
  refused(() => y.backward(), { kind: kn.ArgumentError, op: 'backward', says: 'retainGraph', lacks }, [x]); // prettier-ignore
  refused(() => autograd.grad(y, x), { kind: kn.ArgumentError, op: 'autograd.grad', says: 'retainGraph', lacks }, [x]); // prettier-ignore
});

bothWays('a backward that reaches nothing is an error', (wrap) => {
  const x = kn.array([1, 2]);
  const f = wrap((v: kn.NDArray) => v.square().sum());
  const y = autograd.record(() => f(x));
  refused(() => y.backward(), { kind: kn.ArgumentError, op: 'backward', says: 'attachGrad' }, [x]);
  refused(() => f(x).backward(), { kind: kn.ArgumentError, op: 'backward', says: 'autograd.record' }, [x]); // prettier-ignore
});

bothWays('an in-place change of a recorded array is an error', (wrap) => {
  const x = leaf([1, 2]);
  const f = wrap((v: kn.NDArray) => v.square());
  const y = autograd.record(() => f(x));
  const lacks = ['expected'] as const;
  for (const array of [x, y]) {
    refused(() => array.assign(kn.zeros([2])), { kind: kn.ArgumentError, op: 'assign', says: 'part of a recording', lacks }, [x, y]); // prettier-ignore
  }
  y.backward();
  x.assign(kn.array([5, 5]));
  assert.deepEqual([x.tolist(), x.grad!.tolist()], [[5, 5], [2, 4]]); // prettier-ignore
});

test('an in-place change of a recorded array is an error, whatever attached gradients it has', () => {
  const [x, w] = [leaf([1, 2]), kn.array([3, 4])];
  const y = autograd.record(() => x.mul(w).sum());
  refused(() => w.assign(kn.zeros([2])), { kind: kn.ArgumentError, op: 'assign', says: 'part of a recording', lacks: ['expected'] }, [x, w]); // prettier-ignore
  y.backward();
  assert.deepEqual(x.grad!.tolist(), [3, 4]);
});

bothWays('`attachGrad` sets `x.grad` to zeros, also on intermediates; attaching again resets', (wrap) => {
  const x = leaf([1, 2]);
  assert.deepEqual(x.grad!.tolist(), [0, 0]);
  const square = wrap((v: kn.NDArray) => v.square());
  const { y, loss } = autograd.record(() => {
    const y = square(x);
    y.attachGrad();
    assert.deepEqual(y.grad!.tolist(), [0, 0]);
    return { y, loss: square(y).sum() };
  });
  loss.backward();
  assert.deepEqual([y.grad!.tolist(), x.grad!.tolist()], [[2, 8], [4, 32]]);
  x.attachGrad();
  assert.deepEqual(x.grad!.tolist(), [0, 0]);
}); // prettier-ignore

bothWays('After a `write` pass every array that took part in the recording holds its gradient, zero where nothing flows', (wrap) => {
  const [x, aside, stranger] = [leaf([1, 2]), leaf([3, 4]), leaf([5, 6])];
  autograd.record(() => aside.add(stranger).sum()).backward();
  const f = wrap((v: kn.NDArray, u: kn.NDArray) => {
    u.mul(2);
    return v.square().sum();
  });
  autograd.record(() => f(x, aside)).backward();
  assert.deepEqual([x.grad!.tolist(), aside.grad!.tolist()], [[2, 4], [0, 0]]);
  assert.deepEqual(stranger.grad!.tolist(), [1, 1], 'arrays that eager code never touched keep what they had');
}); // prettier-ignore

bothWays('arrays that eager code never touched keep what they had, even as arguments', (wrap) => {
  const [x, aside] = [leaf([1, 2]), leaf([3, 4])];
  autograd.record(() => aside.sum()).backward();
  const f = wrap((v: kn.NDArray, _unused: kn.NDArray) => v.square().sum());
  autograd.record(() => f(x, aside)).backward();
  assert.deepEqual([x.grad!.tolist(), aside.grad!.tolist()], [[2, 4], [1, 1]]); // prettier-ignore
});

bothWays('`autograd.grad` gives zeros for an `x` the `ys` do not depend on and accepts any array that took part', (wrap) => {
  const [x, aside] = [leaf([1, 2]), kn.array([3, 4])];
  const f = wrap((v: kn.NDArray, u: kn.NDArray) => [v.square(), u.mul(v)]);
  const [y, z] = autograd.record(() => f(x, aside));
  const [dx, dz, da] = autograd.grad(y, [x, z, aside], { retainGraph: true });
  assert.deepEqual([dx.tolist(), dz.tolist(), da.tolist()], [[2, 4], [0, 0], [0, 0]]);
  assert.deepEqual(autograd.grad(z, aside).tolist(), [1, 2], 'without attachGrad');
}); // prettier-ignore

test('`autograd.grad`: an array that took no part, nothing to differentiate, too few head gradients', () => {
  const [x, stranger] = [leaf([1, 2]), kn.array([1])];
  const y = autograd.record(() => x.square());
  const op = 'autograd.grad';
  const parameter = new kn.nn.Parameter({ shape: [1] }) as never;
  refused(() => autograd.grad(y, parameter), { kind: kn.ArgumentError, op, says: 'of a parameter its value' }, [x]); // prettier-ignore
  refused(() => autograd.grad(parameter, x), { kind: kn.ArgumentError, op, says: 'of a parameter its value' }, [x]); // prettier-ignore
  refused(() => autograd.grad(y, stranger), { kind: kn.ArgumentError, op, says: 'took no part' }, [x]); // prettier-ignore
  refused(() => autograd.grad([], x), { kind: kn.ArgumentError, op, says: 'nothing to differentiate', lacks: ['expected', 'actual'] }, [x]); // prettier-ignore
  refused(() => autograd.grad([y, y], x, { headGrads: [null] }), { kind: kn.ArgumentError, op, says: 'head gradient' }, [x]); // prettier-ignore
  assert.deepEqual(autograd.grad(y, x).tolist(), [2, 4]);
});

bothWays('`backward()` of a non-scalar starts from ones', (wrap) => {
  const x = leaf([1, 2]);
  const f = wrap((v: kn.NDArray) => v.square());
  autograd.record(() => f(x)).backward();
  assert.deepEqual(x.grad!.tolist(), [2, 4]);
});

bothWays('Any order of gradient, through every compiled block: against central differences', (wrap) => {
  const f = wrap((x: kn.NDArray) => x.mul(kn.tanh(x)).add(x.square().exp()).sum());
  const at = [0.3, -0.7];
  const x = kn.array(at, { dtype: 'float64' });
  const first = kn.grad(f);
  const second = kn.grad((v: kn.NDArray) => first(v).square().sum());
  near(first(x).tolist(), differences(f, at), 1e-8);
  near(second(x).tolist(), differences((v) => first(v).square().sum(), at), 1e-7);
}); // prettier-ignore

const tower = {
  inputs: (n: number) => ({ x: kn.linspace(0.5, 1.5, n), w: kn.array([2]) }),
  code: ({ x, w }: { x: kn.NDArray; w: kn.NDArray }) => x.pow(4).mul(w).sum(),
  axes: { x: ['n'] },
};

eachForm('Any order of gradient, in every form: x^4 w to the third, and mixed', tower, (make) => {
  const run = make();
  const { x, w } = tower.inputs(3);
  type Scalar = (v: kn.NDArray, u: kn.NDArray) => kn.NDArray;
  const f: Scalar = (v, u) => run({ x: v, w: u }) as kn.NDArray;
  const total = (g: Scalar): Scalar => (v, u) => g(v, u).sum(); // prettier-ignore
  const [first, second] = [kn.grad(f), kn.grad(total(kn.grad(f)))];
  const points = [0.5, 1, 1.5];
  near(first(x, w).tolist(), points.map((v) => 8 * v ** 3), 1e-5); // prettier-ignore
  near(second(x, w).tolist(), points.map((v) => 24 * v ** 2), 1e-5); // prettier-ignore
  near(kn.grad(total(second))(x, w).tolist(), points.map((v) => 48 * v), 1e-5); // prettier-ignore
  near(kn.grad(total(first), 1)(x, w).tolist(), [4 * (0.125 + 1 + 3.375)], 1e-5);
});

test('an asynchronous function cannot be recorded', () => {
  const x = kn.array([1]);
  refused(() => autograd.record(async () => x), { kind: kn.ArgumentError, op: 'autograd.record', says: 'asynchronous' }, [x]); // prettier-ignore
  refused(() => autograd.pause(async () => x), { kind: kn.ArgumentError, op: 'autograd.pause', says: 'asynchronous' }, [x]); // prettier-ignore
});
