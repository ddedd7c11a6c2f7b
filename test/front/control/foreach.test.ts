import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

const { autograd } = kn;

test('a loop over rows stacks its outputs and carries its states', () => {
  const xs = kn.array([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
  const [outputs, total] = kn.foreach(
    (x, s) => {
      const next = s.add(x);
      return [next.mul(2), next];
    },
    xs,
    kn.zeros([2]),
  );
  assert.deepEqual(outputs.tolist(), [[2, 4], [8, 12], [18, 24]]); // prettier-ignore
  assert.deepEqual(total.tolist(), [9, 12]);
});

test('long loops, and those of awkward lengths, are put together in order', () => {
  for (const length of [1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1056, 1057, 2100]) {
    const xs = kn.arange(length);
    const [outputs, last] = kn.foreach((x, s) => [x.add(s), x], xs, kn.array(0));
    const expected = Array.from({ length }, (_, i) => i + Math.max(0, i - 1));
    assert.deepEqual(outputs.tolist(), expected);
    assert.equal(last.item(), length - 1);
  }
});

test('data, states and outputs are nested as the body has them', () => {
  const data = { a: kn.arange(4), b: [kn.ones([4, 2])] };
  const states = { h: kn.array(0), list: [kn.array([1, 1])] };
  const [outputs, last] = kn.foreach(
    ({ a, b: [b] }, { h, list: [c] }) => [
      [{ sum: a.add(h) }, [b.add(c)]],
      { list: [c.add(b)], h: h.add(a) },
    ],
    data,
    states,
  );
  assert.deepEqual(outputs[0].sum.tolist(), [0, 1, 3, 6]);
  assert.deepEqual(outputs[1][0].tolist(), [[2, 2], [3, 3], [4, 4], [5, 5]]); // prettier-ignore
  assert.deepEqual([last.h.item(), last.list[0].tolist()], [6, [5, 5]]);
});

test('rows may be gone through from the last to the first', () => {
  for (const length of [1, 7, 8, 9, 65, 200]) {
    const xs = Array.from({ length }, (_, i) => i + 1);
    let sum = 0;
    const sums = xs.toReversed().map((x) => (sum += x)).toReversed(); // prettier-ignore
    const run = (data: kn.NDArray): kn.NDArray[] =>
      kn.foreach((x, s) => [s.add(x), s.add(x)], data, kn.array(0), { reverse: true });
    for (const form of [run, kn.hybridize(run)]) {
      const [outputs, last] = form(kn.array(xs));
      assert.deepEqual([outputs.tolist(), last.item()], [sums, sum]);
    }
  }
});

test('maps have no states, folds no outputs', () => {
  const [squares, none] = kn.foreach((x, s) => [x.mul(x), s], kn.arange(3), []);
  assert.deepEqual([squares.tolist(), none], [[0, 1, 4], []]);
  const [nothing, sum] = kn.foreach((x, s) => [[], s.add(x)], kn.arange(4), kn.array(0));
  assert.deepEqual([nothing, sum.item()], [[], 6]);
});

test('gradients of any order flow through data, states and captures', () => {
  // y = ((s w + x0) w + x1) w + x2 in Horner's way.
  const f = (w: kn.NDArray, xs: kn.NDArray, s: kn.NDArray): kn.NDArray => {
    const [, last] = kn.foreach((x, h) => [[], h.mul(w).add(x)], xs, s);
    return last;
  };
  const [w, xs, s] = [kn.array(2), kn.array([3, 4, 5]), kn.array(7)];
  near(kn.grad(f, [0, 1, 2])(w, xs, s).map((g) => g.tolist()), [3 * 7 * 4 + 2 * 3 * 2 + 4, [4, 2, 1], 8]); // prettier-ignore
  near(kn.grad(kn.grad(f))(w, xs, s).tolist(), 6 * 7 * 2 + 2 * 3);
  near(
    kn
      .grad((v: kn.NDArray) => kn.grad(f)(v, xs, s).mul(1))(w)
      .tolist(),
    90,
  );
});

test('without rows the outputs have none, and everything that was captured has gradient zero', () => {
  const w = kn.array([1, 2]);
  const s = kn.array([5, 6]);
  w.attachGrad();
  s.attachGrad();
  const p = new kn.nn.Parameter({ shape: [2], gradReq: 'null' });
  p.initialize();
  kn.random.seed(3);
  const before = kn.random.getState();
  const { outputs, last } = autograd.record(() => {
    const [outputs, last] = kn.foreach(
      (x, h) => {
        p.assign(h);
        return [{ wide: x.mul(w).add(kn.random.uniform([3, 2])) }, h.mul(w)];
      },
      kn.zeros([0, 3, 2]),
      s,
    );
    return { outputs, last };
  });
  assert.deepEqual(outputs.wide.shape, [0, 3, 2]);
  assert.deepEqual(kn.random.getState(), before);
  assert.deepEqual(p.value.tolist(), [0, 0]);
  autograd.record(() => last.sum().add(outputs.wide.sum())).backward();
  assert.deepEqual([w.grad!.tolist(), s.grad!.tolist()], [[0, 0], [1, 1]]); // prettier-ignore
});

test('data without rows take part in a recording all the same', () => {
  const fold = (x: kn.NDArray): kn.NDArray =>
    kn.foreach((row, s: kn.NDArray) => [[], s.add(row)], x.mul(2), kn.ones([3]))[1];
  for (const f of [fold, kn.hybridize(fold)]) {
    const x = kn.zeros([0, 3]);
    x.attachGrad();
    autograd.record(() => f(x).sum()).backward();
    assert.deepEqual([x.grad!.shape, x.grad!.tolist()], [[0, 3], []]);
  }
});

test('states that are only passed on take part in a recording, in captured code as well', () => {
  const loops: Record<string, (x: kn.NDArray, state: kn.NDArray) => kn.NDArray> = {
    foreach: (x, state) => kn.foreach((row, s) => [row, s], x, state)[0],
    whileLoop: (x, state) =>
      kn.whileLoop(
        (i) => i.less(3),
        (i, s) => [x, [i.add(1), s]],
        [kn.array(0), state],
      )[0],
    cond: (x, state) => x.mul(kn.cond(kn.array(true), () => [x, state], () => [x, state])[0]), // prettier-ignore
  };
  for (const [name, loop] of Object.entries(loops)) {
    for (const f of [loop, kn.hybridize(loop)]) {
      const [x, state] = [kn.array([1, 2]), kn.array([3])];
      for (const each of [x, state]) each.attachGrad();
      kn.autograd.record(() => state.mul(7)).backward();
      assert.deepEqual(state.grad!.tolist(), [7]);
      kn.autograd.record(() => f(x, state).sum()).backward();
      assert.deepEqual(state.grad!.tolist(), [0], name);
    }
  }
});

test('outputs are what arrays hold when they are returned, also when they are assigned to later', () => {
  const p = new kn.nn.Parameter({ shape: [], gradReq: 'null' });
  p.initialize();
  const [seen] = kn.foreach(
    (x, s) => {
      p.assign(p.value.add(x));
      return [p.value, s];
    },
    kn.array([1, 2, 3]),
    [],
  );
  assert.deepEqual(seen.tolist(), [1, 3, 6]);
});

test('with nothing saved gradients are those of the plain loop', () => {
  const gradients = (save: 'all' | 'none'): unknown => {
    const w = kn.array([0.5, -0.3]);
    w.attachGrad();
    kn.random.seed(1);
    autograd
      .record(() => {
        const [out, last] = kn.foreach(
          (x, s) => {
            const h = s
              .mul(w)
              .add(x)
              .tanh()
              .mul(kn.random.uniform([2]));
            return [h.square(), h];
          },
          kn.array([[1, 2], [3, 4], [0.5, 0.1]]), // prettier-ignore
          w.mul(2),
          { save },
        );
        return out.sum().add(last.sum());
      })
      .backward();
    return w.grad!.tolist();
  };
  near(gradients('none'), gradients('all'));
});
