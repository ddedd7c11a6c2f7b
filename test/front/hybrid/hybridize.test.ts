import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { stopGradient } from '../../../src/ops/index.js';
import { near, refuses } from '../support.js';

const { autograd } = kn;

test('the result has the structure and the values of the function', () => {
  const f = (x: kn.NDArray, options: { scale: number; list: kn.NDArray[] }) => ({
    a: x.mul(options.scale),
    rest: [options.list[0].add(x), { same: x, text: 'static', none: null }],
  });
  const x = kn.array([1, 2]);
  const show = (value: unknown): string => JSON.stringify(value);
  const args = [x, { scale: 3, list: [kn.array([5, 6])] }] as const;
  const h = kn.hybridize(f as (...args: never[]) => unknown);
  assert.equal(
    show(h(...(args as unknown as never[]))),
    show(f(x, { scale: 3, list: [kn.array([5, 6])] })),
  );
});

test('a trace serves calls of one signature; other arguments are guarded', () => {
  let runs = 0;
  const f = kn.hybridize(
    (x: kn.NDArray, mode: string | (() => number)) => {
      runs++;
      return mode === 'double' ? x.mul(2) : typeof mode === 'function' ? x.mul(mode()) : x;
    },
    { verify: 'off' },
  );
  const x = kn.array([1, 2]);
  const triple = (): number => 3;
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(f(x, 'double').tolist(), [2, 4]);
    assert.deepEqual(f(x, 'other').tolist(), [1, 2]);
    assert.deepEqual(f(x, triple).tolist(), [3, 6]);
  }
  assert.equal(runs, 3);
  assert.deepEqual(f(x.astype('int32'), 'double').dtype, 'int32');
  assert.equal(runs, 4);
  const { hits, misses, traces } = f.explain();
  assert.deepEqual([hits, misses.length, traces.length], [6, 4, 4]);
  assert.match(String(f.explain()), /4 traces, 6 hits, 4 misses/);
  assert.match(traces[0].signature, /^\(float32\[2\], "double"\)$/);
});

test('what changes between calls, and is no argument, is found at the second call', () => {
  let factor = 1;
  const changing: (() => kn.NDArray)[] = [
    () => kn.ones([2]).mul(factor++),
    () => (factor++ % 2 === 0 ? kn.ones([2]).exp() : kn.ones([2]).sin()),
    () => (factor++ % 2 === 0 ? kn.ones([2]).exp() : kn.ones([2]).exp().exp()),
    () => kn.ones([2]).mul([factor++, 1]),
  ];
  for (const code of changing) {
    const f = kn.hybridize(code);
    const kept = f().tolist();
    const error = refuses(
      f,
      kn.TraceError,
      'changed between two calls',
      'pass what changes as an argument',
    );
    assert.match(`${error.expected} ${error.actual}`, /hybridize\.test|constant/);
    const off = kn.hybridize(code, { verify: 'off' });
    assert.deepEqual([off(), off()].length, 2);
    assert.equal((kept as number[]).length, 2);
  }
  const holder = { w: kn.array([1, 2]) };
  const g = kn.hybridize((x: kn.NDArray) => x.add(holder.w));
  g(kn.ones([2]));
  holder.w = kn.array([5, 5]);
  refuses(() => g(kn.ones([2])), kn.TraceError, 'it reads another array');
  const always = kn.hybridize((x: kn.NDArray) => x.mul(factor > 100 ? 2 : 1), { verify: 'always' });
  for (let i = 0; i < 3; i++) always(kn.ones([2]));
  factor = 200;
  refuses(() => always(kn.ones([2])), kn.TraceError, 'changed between two calls', '[1]', '[2]');
});

test('training and recording are guarded', () => {
  const f = kn.hybridize((x: kn.NDArray) => (autograd.isTraining() ? x.mul(2) : x.mul(3)));
  const x = kn.array([1]);
  assert.deepEqual(f(x).tolist(), [3]);
  assert.deepEqual(autograd.trainMode(() => f(x)).tolist(), [2]);
  assert.deepEqual(autograd.record(() => f(x)).tolist(), [2]);
  assert.deepEqual(autograd.record(() => f(x), { trainMode: false }).tolist(), [3]);
  assert.deepEqual(f(x).tolist(), [3]);
});

test('arrays from outside are inputs: changes are seen, gradients flow', () => {
  const w = kn.array([1, 2]);
  w.attachGrad();
  const f = kn.hybridize((x: kn.NDArray) => x.mul(w).sum());
  const x = kn.array([3, 4]);
  assert.equal(f(x).item(), 11);
  w.assign(kn.array([10, 20]));
  assert.equal(f(x).item(), 110);
  autograd.record(() => f(x)).backward();
  assert.deepEqual(w.grad!.tolist(), [3, 4]);
});

test('called twice in one recording, both calls count', () => {
  const w = kn.array([2]);
  w.attachGrad();
  const f = kn.hybridize((x: kn.NDArray) => x.mul(w).mul(w));
  autograd.record(() => f(f(kn.array([3])))).backward();
  assert.deepEqual(w.grad!.tolist(), [4 * 3 * 8]);
});

test('gradients of any order go through', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.sin().mul(x));
  const at = 0.7;
  const x = kn.array(at, { dtype: 'float64' });
  near(kn.grad(f)(x).item(), Math.cos(at) * at + Math.sin(at), 1e-12);
  near(kn.grad(kn.grad(f))(x).item(), 2 * Math.cos(at) - at * Math.sin(at), 1e-12);
  near(
    kn
      .grad(kn.grad(kn.grad(f)))(x)
      .item(),
    -3 * Math.sin(at) - at * Math.cos(at),
    1e-12,
  );
  const inside = kn.hybridize((v: kn.NDArray) => kn.grad((u: kn.NDArray) => u.pow(4))(v));
  near(inside(kn.array(2)).item(), 32);
  near(kn.grad(inside)(kn.array(2)).item(), 48);
});

test('detach, pause and custom gradients hold in captured code', () => {
  const custom = kn.customGradient({
    forward: (x) => x.mul(2),
    backward: ([g], { inputs: [x] }) => g.mul(x).mul(100),
  });
  const functions: ((x: kn.NDArray) => kn.NDArray)[] = [
    (x) => x.mul(x.detach()),
    (x) => x.mul(autograd.pause(() => x.mul(2))),
    (x) => custom(x).mul(x),
    (x) => kn.checkpoint((v: kn.NDArray) => v.pow(3))(x),
  ];
  for (const f of functions) {
    const gradient = (g: (x: kn.NDArray) => kn.NDArray): unknown => {
      const x = kn.array([3]);
      x.attachGrad();
      autograd.record(() => g(x).sum()).backward();
      return x.grad!.tolist();
    };
    near(gradient(kn.hybridize(f)), gradient(f));
  }
});

test('state is written after each call, once', () => {
  const state = kn.zeros([1]);
  const f = (x: kn.NDArray): kn.NDArray => {
    state.assign(state.mul(0.5).add(x));
    return state.mul(10);
  };
  const h = kn.hybridize(f);
  const x = kn.ones([1]);
  const run = (g: typeof f): unknown => {
    state.assign(kn.zeros([1]));
    return [g(x).tolist(), g(x).tolist(), state.tolist()];
  };
  assert.deepEqual(run(h), run(f));
  h.graphFor(x);
  assert.deepEqual(state.tolist(), [1.5]);
});

test('state that a recorded call writes is read as it was', () => {
  const state = kn.array([2]);
  state.attachGrad({ req: 'null' });
  const x = kn.array([1]);
  x.attachGrad();
  const f = kn.hybridize((v: kn.NDArray) => {
    const y = v.mul(state);
    state.assign(state.mul(100));
    return y.sum();
  });
  autograd.record(() => f(x)).backward();
  assert.deepEqual([x.grad!.tolist(), state.tolist()], [[2], [200]]);
});

test('a whole training step is a function, too', () => {
  const make = () => {
    const w = kn.array([1, 2]);
    w.attachGrad();
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = autograd.record(() => w.mul(x).sub(1).square().sum());
      loss.backward();
      w.assign(w.sub(w.grad!.mul(0.1)));
      return loss;
    };
    return { w, step };
  };
  const [eager, captured] = [make(), make()];
  const step = kn.hybridize(captured.step);
  const x = kn.array([0.5, -1]);
  for (let i = 0; i < 3; i++) near(step(x).item(), eager.step(x).item());
  near(captured.w.tolist(), eager.w.tolist());
  near(captured.w.grad!.tolist(), eager.w.grad!.tolist());
});

test('an attached gradient is read anew at each call', () => {
  const w = kn.array([1]);
  w.attachGrad();
  const f = kn.hybridize(() => w.grad!.mul(2));
  const seen: unknown[] = [];
  for (const k of [3, 5]) {
    autograd.record(() => w.mul(k).sum()).backward();
    seen.push(f().tolist());
  }
  assert.deepEqual(seen, [[6], [10]]);
});

test('when sizes keep changing, the third trace is for all of them', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.mul(2).add(y).sum(0));
  for (const n of [3, 4, 5, 6, 0, 1]) {
    assert.deepEqual(f(kn.ones([n, 2]), kn.ones([n, 2])).tolist(), [3 * n, 3 * n]);
  }
  const { traces } = f.explain();
  assert.equal(traces.length, 3);
  assert.match(traces[2].signature, /float32\[n0, 2\], float32\[n0, 2\]/);
});

test('a size that the function reads as a number stays one', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(x.shape[0]));
  for (const n of [2, 3, 4, 5])
    assert.deepEqual(
      f(kn.ones([n])).tolist(),
      Array.from({ length: n }, () => n),
    );
  assert.equal(f.explain().traces.length, 4);
});

test('dynamic axes are symbolic from the first trace on', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.reshape([-1, 4]).sum(1), {
    dynamic: [['batch', null]],
  });
  for (const n of [2, 3]) assert.equal(f(kn.ones([n, 4])).size, n);
  assert.equal(f.explain().traces.length, 1);
  assert.match(String(f.graphFor(kn.ones([2, 4]))), /input input: float32\[batch, 4\]/);
  const g = kn.hybridize((x: kn.NDArray) => x.mul(x.shape[0] * 2), { dynamic: [['batch']] });
  refuses(() => g(kn.ones([2])), kn.TraceError, 'needed as a number', 'batch');
  const h = kn.hybridize((x: kn.NDArray) => x, { dynamic: [['a', 'b']] });
  refuses(() => h(kn.ones([2])), kn.ArgumentError, 'fewer axes than names');
  const k = kn.hybridize((x: kn.NDArray) => x, { dynamic: [['a', 'a']] });
  refuses(() => k(kn.ones([2, 3])), kn.ArgumentError, 'dimension a has two sizes');
});

test('reading a value while tracing names the line and what to do', () => {
  for (const read of [
    (x: kn.NDArray): unknown => x.sum().item(),
    (x: kn.NDArray): unknown => x.tolist(),
    (x: kn.NDArray): unknown => `${x.add(1)}`,
  ]) {
    const f = kn.hybridize((x: kn.NDArray) => {
      read(x);
      return x;
    });
    const error = refuses(
      () => f(kn.ones([2])),
      kn.TraceError,
      'value of an array was read',
      'where or cond',
    );
    assert.match(error.source ?? '', /hybridize\.test/);
  }
});

test('an array of captured code cannot be used outside', () => {
  const leaked: kn.NDArray[] = [];
  const f = kn.hybridize((x: kn.NDArray) => {
    leaked.push(x, x.mul(2));
    return x;
  });
  f(kn.ones([2]));
  for (const array of leaked) {
    refuses(() => array.add(1), kn.TraceError, 'used outside of it');
    refuses(() => array.tolist(), kn.TraceError, 'used outside of it');
    refuses(() => kn.deferredCompute(() => array.add(1)), kn.TraceError, 'used outside of it');
    refuses(() => kn.hybridize(() => array)(), kn.TraceError, 'used outside of it');
    refuses(() => kn.hybridize(() => array.add(1))(), kn.TraceError, 'used outside of it');
  }
  refuses(
    () => kn.exportGraph({ inputs: {}, outputs: { y: leaked[1] } }),
    kn.TraceError,
    'graphFor',
  );
});

test('hybridized functions are part of the captures around them', () => {
  const inner = kn.hybridize((x: kn.NDArray) => x.mul(2));
  const outer = kn.hybridize((x: kn.NDArray) => inner(x).add(inner(x)));
  assert.deepEqual(outer(kn.array([1])).tolist(), [4]);
  assert.equal(inner.explain().misses.length, 0);
  const x = kn.array([1]);
  const y = kn.deferredCompute(() => inner(x));
  assert.deepEqual(
    kn
      .exportGraph({ inputs: { x }, outputs: { y } })
      .run({ x: [5] })
      .y.tolist(),
    [10],
  );
});

test('user errors are those of eager code, and leave nothing behind', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.add(y));
  const error = refuses(() => f(kn.ones([2]), kn.ones([3])), kn.ShapeError, 'broadcast');
  assert.equal(error.op, 'add');
  assert.deepEqual(f(kn.ones([2]), kn.ones([2])).tolist(), [2, 2]);
  assert.equal(f.explain().traces.length, 1);
});

test('active: false leaves the function as it is', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(Number(x.sum().item())), { active: false });
  assert.deepEqual(f(kn.array([1, 2])).tolist(), [3, 6]);
});

test('called as a method, a function has its object, whose fields are guarded', () => {
  class Scaled {
    scale = kn.array(3);
    times = 2;
    readonly method = kn.hybridize(function (this: Scaled, x: kn.NDArray): kn.NDArray {
      return x.mul(this.scale).mul(this.times);
    });
    readonly arrow = kn.hybridize((x: kn.NDArray) => x.mul(this.scale));
  }
  const [one, other] = [new Scaled(), new Scaled()];
  const call = (on: Scaled): unknown => on.method(kn.array(1)).item();
  other.times = 10;
  assert.deepEqual([one, other, one].map(call), [6, 30, 6]);
  one.scale = kn.array(5);
  one.times = 4;
  assert.deepEqual([one, other, one].map(call), [20, 30, 20]);
  assert.equal(one.arrow(kn.array(2)).item(), 10);
  // Borrowed by another object, and inside of other captured code.
  const borrowed = { scale: kn.array(1), times: 7, method: other.method };
  assert.equal(borrowed.method.call(borrowed as never, kn.array(1)).item(), 7);
  assert.equal(
    kn
      .hybridize((x: kn.NDArray) => one.method(x))(kn.array(1))
      .item(),
    20,
  );
  const inactive = kn.hybridize(one.method, { active: false });
  assert.equal(inactive.call(other, kn.array(1)).item(), 30);
});

test('one array passed twice is one array inside', () => {
  const f = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => {
    a.assign(a.add(1));
    return b.mul(1);
  });
  const x = kn.array([1]);
  assert.deepEqual([f(x, x).tolist(), x.tolist()], [[2], [2]]);
  const [a, b] = [kn.array([1]), kn.array([1])];
  assert.deepEqual([f(a, b).tolist(), a.tolist(), b.tolist()], [[1], [2], [1]]);
});

test('gradients stop at paused code, whether it is returned, read or exported', () => {
  const body = (v: kn.NDArray): kn.NDArray[] => [
    v.mul(2),
    kn.autograd.pause(() => v.square()),
    v.mul(kn.autograd.pause(() => v.mul(10))),
  ];
  const gradient = (f: typeof body): unknown => {
    const x = kn.array([3]);
    x.attachGrad();
    kn.autograd.record(() => f(x).reduce((a, b) => a.add(b))).backward();
    return x.grad!.tolist();
  };
  const input = kn.array([3]);
  const outputs = kn.deferredCompute(() => Object.fromEntries(Object.entries(body(input))));
  const graph = kn.exportGraph({ inputs: { x: input }, outputs });
  const captured = kn.hybridize(body);
  assert.deepEqual(gradient(body), [32]);
  for (let call = 0; call < 3; call++) assert.deepEqual(gradient(captured), [32]);
  assert.deepEqual(
    gradient((x) => Object.values(graph.run({ x }))),
    [32],
  );
});

test('draws whose results are dropped move the generator all the same', () => {
  const body = (x: kn.NDArray): kn.NDArray => {
    kn.random.uniform([1]);
    return x;
  };
  const captured = kn.hybridize(body);
  kn.random.seed(3);
  for (let call = 0; call < 3; call++) captured(kn.ones([1]));
  assert.equal(kn.random.getState().counter, 3n);
});

test('a function that records by itself can be differentiated from outside', () => {
  const body = (v: kn.NDArray): { loss: kn.NDArray; aside: kn.NDArray } => ({
    loss: kn.autograd.record(() => v.square().sum()),
    aside: v.mul(7),
  });
  const captured = kn.hybridize(body);
  for (const f of [body, captured, captured, captured]) {
    const x = kn.array([1, 3]);
    x.attachGrad();
    f(x).loss.backward();
    assert.deepEqual(x.grad!.tolist(), [2, 6]);
    x.assign(kn.zeros([2]));
  }
});

test('attaching a gradient to an argument or an array from outside is carried out on each call', () => {
  const outside = kn.array([2]);
  const body = (v: kn.NDArray): kn.NDArray => {
    v.attachGrad();
    outside.attachGrad();
    kn.autograd.record(() => v.square().mul(outside).sum()).backward();
    return v.grad!.mul(1);
  };
  const captured = kn.hybridize(body);
  for (const f of [body, captured, captured, captured]) {
    const x = kn.array([3]);
    assert.deepEqual(f(x).tolist(), [12]);
    assert.deepEqual([x.grad?.tolist(), outside.grad?.tolist()], [[12], [9]]);
  }
});

test('an array that captured code reads for nothing takes part, and is free again after backward', () => {
  const w = kn.ones([2]);
  w.attachGrad();
  const body = (v: kn.NDArray): kn.NDArray => {
    w.mul(2);
    return v.mul(v);
  };
  for (const f of [body, kn.hybridize(body)]) {
    for (let call = 0; call < 3; call++) {
      const x = kn.ones([2]);
      x.attachGrad();
      kn.autograd.record(() => w.mul(3).sum()).backward();
      assert.deepEqual(w.grad!.tolist(), [3, 3]);
      kn.autograd.record(() => f(x)).backward();
      assert.deepEqual(w.grad!.tolist(), [0, 0]);
      const [ofW] = kn.autograd.grad(
        kn.autograd.record(() => f(x)),
        [w],
      );
      assert.deepEqual(ofW.tolist(), [0, 0]);
      w.assign(kn.ones([2]));
    }
  }
});

test('an argument that is returned untouched passes its gradient on', () => {
  const f = kn.hybridize((x: kn.NDArray, c: kn.NDArray) => [x.mul(2), c]);
  for (let call = 0; call < 3; call++) {
    const [x, c] = [kn.array([1]), kn.array([3])];
    x.attachGrad();
    c.attachGrad();
    kn.autograd
      .record(() => {
        const [y, d] = f(x, c);
        return y.add(d.mul(100));
      })
      .backward();
    assert.deepEqual([x.grad!.tolist(), c.grad!.tolist()], [[2], [100]]);
  }
});

test('a failing call draws no random numbers', () => {
  const x = kn.ones([2]);
  const y = kn.deferredCompute(() => x.add(kn.random.uniform([2])));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  kn.random.seed(1);
  assert.throws(() => graph.run({ x: kn.ones([3]) }), kn.ShapeError);
  assert.equal(kn.random.getState().counter, 0n);
});

test('integers raised to powers of a running minimum, or of their own position, compile', () => {
  const positions = kn.hybridize((x: kn.NDArray) => {
    const i = kn.arange(0, 4, 1, { dtype: 'int32' });
    return kn.pow(i, i).add(x);
  });
  assert.deepEqual(positions(kn.zeros([4], { dtype: 'int32' })).tolist(), [1, 1, 4, 27]);
  const f = kn.hybridize((x: kn.NDArray) => {
    const least = kn.cummin(x, 0);
    return kn.pow(least, least);
  });
  const x = kn.array(
    [
      [2, 3, 4],
      [1, 2, 5],
    ],
    { dtype: 'int32' },
  );
  assert.deepEqual(f(x).tolist(), [
    [4, 27, 256],
    [1, 4, 256],
  ]);
});

test('calls that look alike are told apart: types, gradients, recording, mode, aliases, other arguments', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) =>
    kn.autograd.isTraining() ? x.sub(y) : x.add(y),
  );
  const [a, b] = [kn.array([1, 2]), kn.array([10, 20])];
  for (let call = 0; call < 4; call++) assert.deepEqual(f(a, b).tolist(), [11, 22]);
  assert.deepEqual(kn.autograd.trainMode(() => f(a, b)).tolist(), [-9, -18]);
  assert.deepEqual(f(a, a).tolist(), [2, 4]);
  assert.deepEqual(f(a, kn.array([[1], [2]])).tolist(), [
    [2, 3],
    [3, 4],
  ]);
  assert.equal(f(a.astype('float64'), b.astype('float64')).dtype, 'float64');
  a.attachGrad();
  for (let call = 0; call < 3; call++) {
    kn.autograd.record(() => f(a, b), { trainMode: false }).backward();
    assert.deepEqual(a.grad!.tolist(), [1, 1]);
  }
  assert.deepEqual(f(a, b).tolist(), [11, 22]);
  assert.deepEqual(f(a, 3 as never).tolist(), [4, 5]);
  const { hits, misses } = f.explain();
  assert.equal(hits + misses.length, 13);
});

test('a backward pass that reaches nothing is an error, though the captured code has read a tracked array', () => {
  const body = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => {
    x.sin();
    return y;
  };
  for (const f of [body, kn.hybridize(body)]) {
    for (let call = 0; call < 3; call++) {
      const x = kn.ones([2]);
      x.attachGrad();
      const loss = kn.autograd.record(() => f(x, kn.ones([2])).sum());
      assert.throws(() => loss.backward(), /reaches no array that keeps a gradient/);
      const again = kn.autograd.record(() => f(x, kn.ones([2])).sum());
      assert.deepEqual(kn.autograd.grad(again, x).tolist(), [0, 0]);
    }
  }
});

test('stopGradient is detach: nothing is reached through it, and what it reads takes part', () => {
  const body = (x: kn.NDArray): kn.NDArray => stopGradient(x.mul(2));
  for (const f of [body, kn.hybridize(body), kn.staticGraph(body)]) {
    for (let call = 0; call < 3; call++) {
      const x = kn.ones([2]);
      x.attachGrad();
      const loss = kn.autograd.record(() => f(x).sum());
      assert.throws(() => loss.backward(), /reaches no array that keeps a gradient/);
      const mixed = kn.autograd.record(() => f(x).mul(x).sum());
      assert.deepEqual(kn.autograd.grad(mixed, x).tolist(), [2, 2]);
    }
  }
});

test('the list that an operator returns is the own one of the code', () => {
  const body = (x: kn.NDArray): kn.NDArray => {
    const parts = kn.split(x, 2) as kn.NDArray[]; // plain JavaScript writes to it
    parts[0] = parts[0].mul(2);
    return kn.concat([...parts, kn.split(x, 2)[0]]);
  };
  const x = kn.arange(4);
  assert.deepEqual(body(x).tolist(), [0, 2, 2, 3, 0, 1]);
  assert.deepEqual(kn.hybridize(body)(x).tolist(), [0, 2, 2, 3, 0, 1]);
});
