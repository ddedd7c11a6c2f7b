import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { inEveryForm, inEveryFormWithGradients, lists } from './forms.js';
import { refused, refusedInEveryForm } from './refusals.js';

/* The captured half of "Deferred compute and static graphs" in the public contract, line by line. */

const { autograd } = kn;

class Net extends kn.nn.HybridBlock {
  fc: kn.nn.Dense = new kn.nn.Dense(2);
  override forward(x: kn.NDArray): kn.NDArray {
    return this.fc.call(x);
  }
}

test("kn.hybridize((x, w) => x.matmul(w).relu(), { verify: 'second' })", () => {
  const f = kn.hybridize((x: kn.NDArray, w: kn.NDArray) => x.matmul(w).relu(), { verify: 'second' });
  const [x, w] = [kn.array([[1, -2]]), kn.array([[1, -1], [1, -1]])];
  for (let i = 0; i < 3; i++) assert.deepEqual(f(x, w).tolist(), [[0, 1]]);
}); // prettier-ignore

test('net.initialize(); net.hybridize(); net.call(x); net.explain(); net.graphFor(x)', () => {
  const net = new Net();
  net.initialize();
  const x = kn.array([[1, 2, 3]]);
  const eager = net.call(x).tolist();
  net.hybridize();
  for (let i = 0; i < 3; i++) assert.deepEqual(net.call(x).tolist(), eager);
  const { hits, misses, traces } = net.explain();
  assert.deepEqual([hits, misses.length, traces.length], [2, 1, 1]);
  assert.deepEqual(traces[0].captured.toSorted(), ['fc.bias', 'fc.weight']);
  assert.deepEqual([...net.graphFor(x).parameters.keys()].sort(), ['fc.bias', 'fc.weight']);
});

test('`forward` is what one writes, `call` what one calls', () => {
  let runs = 0;
  class Counted extends kn.nn.HybridBlock {
    override forward(x: kn.NDArray, options: { twice: boolean }): kn.NDArray[] {
      runs++;
      return options.twice ? [x.mul(2)] : [x];
    }
  }
  const block = new Counted().initialize();
  const x = kn.array([3]);
  assert.deepEqual(lists(block.call(x, { twice: true })), [[6]]);
  assert.equal(runs, 1);
  block.hybridize({ verify: 'off' });
  for (let i = 0; i < 3; i++) assert.deepEqual(lists(block.call(x, { twice: true })), [[6]]);
  assert.equal(runs, 2);
  block.hybridize({ active: false });
  block.call(x, { twice: false });
  assert.equal(runs, 3);
});

inEveryFormWithGradients('Hybridizing never changes a result, a gradient, an output\'s structure', {
  inputs: (n) => ({ x: kn.linspace(-1, 1, 2 * n).reshape([n, 2]), w: kn.array([[1, 2, 3], [4, 5, 6]]), b: kn.array([1, 0, -1]) }),
  code: ({ x, w, b }) => {
    const h = x.matmul(w).add(b).tanh();
    return { h, bare: h.sum(), list: [h.mean(0), [h.max(1)], {}], text: 'static', flag: true, none: null, missing: undefined };
  },
  axes: { x: ['n', null] },
  isContraction: true,
}); // prettier-ignore

inEveryForm('Inputs and outputs are any nesting of arrays, lists and plain objects', {
  inputs: () => ({ x: kn.array([1, 2]), y: kn.array([3, 4]) }),
  code: ({ x, y }) => [[x.add(y)], { deep: { er: [[x.mul(y)]] } }, [], {}, [null, 1, 'a', 2n]],
  gives: [[[4, 6]], { deep: { er: [[[3, 8]]] } }, [], {}, [null, 1, 'a', 2n]],
});

test('a bare array stays bare, and [a] stays a list, on the way in and out', () => {
  const f = kn.hybridize((x: { a: kn.NDArray[] } | kn.NDArray[] | kn.NDArray) =>
    x instanceof kn.NDArray ? x.mul(2) : Array.isArray(x) ? x.map((v) => v.mul(3)) : { b: x.a[0].mul(4) }); // prettier-ignore
  const x = kn.array([1]);
  for (let i = 0; i < 3; i++) {
    assert.deepEqual([lists(f(x)), lists(f([x])), lists(f({ a: [x] }))], [[2], [[3]], { b: [4] }]);
  }
});

refusedInEveryForm(
  'Hybridizing never changes an error',
  () => ({ x: kn.ones([2, 3]), y: kn.ones([2, 3]) }),
  ({ x, y }) => [x.mul(2), x.add(1).matmul(y)],
  { kind: kn.ShapeError, op: 'matmul', says: 'matmul' },
);

test('Hybridizing never changes an error: one that the user throws, and arguments that are no data', () => {
  const mine = new RangeError('mine');
  const f = kn.hybridize((x: kn.NDArray) => {
    x.add(1);
    throw mine;
  });
  assert.throws(() => f(kn.ones([1])), mine);
  assert.throws(() => f(kn.ones([1])), mine);
  assert.equal(f.explain().traces.length, 0);
});

test('an error in a later call leaves what was captured as it is', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.add(y));
  const [x, y] = [kn.ones([2]), kn.ones([3])];
  assert.deepEqual(f(x, x).tolist(), [2, 2]);
  refused(() => f(x, y), { kind: kn.ShapeError, op: 'add', says: 'broadcast' }, [x, y]);
  assert.deepEqual(f(x, x).tolist(), [2, 2]);
  assert.equal(f.explain().traces.length, 1);
});

test('Options: `active`', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(Number(x.sum().item())), { active: false });
  assert.deepEqual(f(kn.array([1, 2])).tolist(), [3, 6]);
});

for (const verify of ['off', 'second', 'always'] as const) {
  test(`Options: \`verify\`: ${verify}`, () => {
    let runs = 0;
    const f = kn.hybridize((x: kn.NDArray) => (runs++, x.mul(2)), { verify });
    for (let i = 0; i < 4; i++) assert.deepEqual(f(kn.array([i])).tolist(), [2 * i]);
    assert.equal(runs, { off: 1, second: 2, always: 4 }[verify]);
  });
}

test('Options: `dynamic` (dims to keep symbolic)', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.sum(1), { dynamic: [['batch', null]] });
  for (const n of [2, 3, 1, 9]) assert.equal(f(kn.ones([n, 4])).size, n);
  assert.equal(f.explain().traces.length, 1);
});

for (const save of ['all', 'none', 'auto', 64] as const) {
  test(`Options: \`save\`: ${save} keeps values and gradients`, () => {
    const run = (wrap: (fn: (x: kn.NDArray) => kn.NDArray) => (x: kn.NDArray) => kn.NDArray): unknown => {
      const x = kn.linspace(-1, 1, 12).reshape([4, 3]);
      x.attachGrad();
      const f = wrap((v) => v.exp().mul(v.sin()).softmax().mul(v).square().sum());
      const loss = autograd.record(() => f(x));
      loss.backward();
      return [loss.item(), x.grad!.tolist()];
    };
    near(run((fn) => kn.hybridize(fn, { save })), run((fn) => fn), 1e-6);
  });
} // prettier-ignore

for (const tier of ['auto', 'wasm'] as const) {
  test(`Options: \`tier\`: ${tier}; repeated calls are bitwise equal within a tier`, () => {
    const f = kn.hybridize((x: kn.NDArray) => x.exp().matmul(x).sum(0), { tier });
    const x = kn.linspace(-1, 1, 81).reshape([9, 9]);
    const first = f(x).dataSync();
    for (let i = 0; i < 3; i++) assert.deepEqual(f(x).dataSync(), first);
  });
}

test('arrays from outside become inputs by identity: changes are seen, gradients flow', () => {
  const [w, same] = [kn.array([1, 2]), kn.array([1, 2])];
  w.attachGrad();
  const f = kn.hybridize((x: kn.NDArray) => x.mul(w).add(same).sum());
  const x = kn.array([3, 4]);
  assert.equal(f(x).item(), 14);
  w.assign(kn.array([10, 20]));
  assert.equal(f(x).item(), 113);
  autograd.record(() => f(x)).backward();
  assert.deepEqual([w.grad!.tolist(), same.grad], [[3, 4], null]);
  assert.equal(f.explain().traces[0].captured.length, 2);
});

test('`attachGrad` after the first call is seen by the next', () => {
  const [w, x] = [kn.array([1, 2]), kn.array([3, 4])];
  const f = kn.hybridize((v: kn.NDArray) => v.mul(w).sum());
  x.attachGrad();
  autograd.record(() => f(x)).backward();
  w.attachGrad();
  autograd.record(() => f(x)).backward();
  assert.deepEqual([x.grad!.tolist(), w.grad!.tolist()], [[1, 2], [3, 4]]); // prettier-ignore
});

test('Arguments that are not arrays are guarded: primitives by value, functions by identity', () => {
  const f = kn.hybridize((x: kn.NDArray, by: unknown) =>
    x.mul(typeof by === 'function' ? Number(by()) : typeof by === 'boolean' ? (by ? 1 : 0) : Number(by)));
  const x = kn.array([1]);
  const [two, three] = [(): number => 2, (): number => 3];
  for (let i = 0; i < 3; i++) {
    for (const [by, expected] of [[5, 5], ['6', 6], [7n, 7], [true, 1], [false, 0], [null, 0], [two, 2], [three, 3], [-0, -0], [0, 0]] as const) {
      assert.deepEqual(f(x, by).tolist(), [expected]);
    }
  }
}); // prettier-ignore

test('shapes, dtypes, modes and attached gradients are guarded', () => {
  const f = kn.hybridize((x: kn.NDArray) => ({
    y: autograd.isTraining() ? x.mul(2) : x,
    shape: x.shape.join(),
    dtype: x.dtype,
    recorded: autograd.isRecording(),
  }));
  const check = (x: kn.NDArray, training: boolean, recorded: boolean): void => {
    const { y, ...rest } = f(x);
    assert.deepEqual(rest, { shape: x.shape.join(), dtype: x.dtype, recorded });
    assert.deepEqual(y.tolist(), (training ? x.mul(2) : x).tolist());
  };
  for (let i = 0; i < 3; i++) {
    for (const x of [
      kn.ones([2]),
      kn.ones([1, 2]),
      kn.ones([2], { dtype: 'int32' }),
      kn.ones([3]),
    ]) {
      check(x, false, false);
      autograd.trainMode(() => check(x, true, false));
      autograd.record(() => check(x, true, true));
      autograd.record(() => check(x, false, true), { trainMode: false });
    }
  }
});

test('a value read while tracing is an error on the first call that names the line and what to use', () => {
  const reads: ((x: kn.NDArray) => unknown)[] = [
    (x) => x.item(),
    (x) => x.sum().tolist(),
    (x) => x.add(1).dataSync(),
    (x) => `${x.mul(2)}`,
    (x) => kn.compute(x.mul(2)),
  ];
  for (const read of reads) {
    const f = kn.hybridize((x: kn.NDArray) => {
      read(x);
      return x.mul(2);
    });
    const x = kn.ones([1]);
    const error = (): kn.KaonError => {
      try {
        f(x);
      } catch (thrown) {
        if (thrown instanceof kn.TraceError) return thrown;
      }
      return assert.fail('the value was read');
    };
    assert.match(error().message, /value of an array was read/);
    assert.match(error().advice!, /where|cond/);
    assert.match(error().source!, /hybridize\.test/);
    assert.equal(error().code, 'KAON_TRACE');
  }
});

test('an array of captured code cannot be used outside of it', () => {
  const leaked: kn.NDArray[] = [];
  const f = kn.hybridize((x: kn.NDArray) => {
    leaked.push(x.mul(2));
    return x;
  });
  f(kn.ones([2]));
  const lacks = ['expected'] as const;
  refused(() => kn.deferredCompute(() => leaked[0].add(1)), { kind: kn.TraceError, op: 'add', says: 'used outside', lacks }); // prettier-ignore
  refused(() => leaked[0].tolist(), { kind: kn.TraceError, op: 'reading', says: 'used outside', lacks }); // prettier-ignore
});

test('the random generator cannot be set while tracing', () => {
  const f = kn.hybridize((x: kn.NDArray) => {
    kn.random.seed(1);
    return x.add(kn.random.normal([1]));
  });
  refused(() => f(kn.ones([1])), { kind: kn.TraceError, op: 'random.seed', says: 'while tracing', lacks: ['expected', 'actual'] }); // prettier-ignore
});

test('an asynchronous function cannot be hybridized', () => {
  const act = (): unknown => kn.hybridize(async (x: kn.NDArray) => x)(kn.ones([1]));
  refused(act, { kind: kn.TraceError, op: 'hybridize', says: 'asynchronous' });
});

test('A function that runs forward, `backward()` and updates hybridizes whole', () => {
  const run = (wrap: (step: (x: kn.NDArray) => kn.NDArray) => (x: kn.NDArray) => kn.NDArray): unknown => {
    const w = kn.array([1, 2]);
    w.attachGrad();
    const step = wrap((x) => {
      const loss = autograd.record(() => w.mul(x).sub(1).square().sum());
      loss.backward();
      w.assign(w.sub(w.grad!.mul(0.1)));
      return loss;
    });
    const losses = [1, 2, 3].map((k) => step(kn.array([0.5, -k])).item());
    return [losses, w.tolist(), w.grad!.tolist()];
  };
  near(run((step) => kn.hybridize(step)), run((step) => step), 1e-6);
}); // prettier-ignore

test('what a captured function returns must be nested arrays, as what it is given', () => {
  const x = kn.ones([2]);
  const says = 'no place among arrays';
  for (const wrap of [kn.hybridize, kn.staticGraph] as const) {
    const f = wrap((v: kn.NDArray) => ({ y: v.mul(2), at: new Date(0) }) as never);
    const op = wrap === kn.hybridize ? 'hybridize' : 'staticGraph';
    refused(() => f(x), { kind: kn.ArgumentError, op, says }, [x]);
    const given = wrap((date: Date) => x.mul(date.getTime()));
    refused(() => given(new Date(0)), { kind: kn.ArgumentError, op, says }, [x]);
  }
  const again = kn.checkpoint((v: kn.NDArray) => [v.mul(2), new Map()] as never);
  refused(() => kn.autograd.record(() => again(x)), { kind: kn.ArgumentError, op: 'checkpoint', says }, [x]); // prettier-ignore
});
