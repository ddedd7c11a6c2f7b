import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { inEveryFormWithGradients, lists } from './forms.js';
import { refused } from './refusals.js';

/* The deferred half of "Deferred compute and static graphs" in the public contract, line by line. */

const { autograd } = kn;

/** A function that counts how often its result is really computed: a fresh draw each time it is. */
function counted(x: kn.NDArray): kn.NDArray {
  return x.add(kn.random.uniform(x.shape));
}

test('const { y, z } = kn.deferredCompute(() => ({ y, z })): any nesting comes back as it is', () => {
  const x = kn.arange(80).reshape([8, 10]);
  const result = kn.deferredCompute(() => ({
    y: x.add(5).mul(x.add(5)),
    rest: [x.pow(2), { text: 'static', none: null }],
  }));
  assert.deepEqual(lists(result), {
    y: x.add(5).square().tolist(),
    rest: [x.square().tolist(), { text: 'static', none: null }],
  });
});

test('kn.isDeferred(y): shape and dtype are known without computing', () => {
  const x = kn.ones([8, 10], { dtype: 'int32' });
  const { y, view } = kn.deferredCompute(() => {
    const y = x.add(5).less(3);
    return { y, view: y.slice([0, 4]).transpose() };
  });
  assert.deepEqual([y.shape, y.dtype, y.ndim, y.size], [[8, 10], 'bool', 2, 80]);
  assert.deepEqual(view.shape, [10, 4]);
  assert.deepEqual([kn.isDeferred(y), kn.isDeferred(view), kn.isDeferred(x)], [true, true, false]);
});

test('reading computes y and what it needs, once', () => {
  const x = kn.ones([3]);
  const { shared, a, b, other } = kn.deferredCompute(() => {
    const shared = counted(x);
    return { shared, a: shared.mul(2), b: shared.mul(4), other: x.mul(7) };
  });
  const first = a.tolist();
  assert.deepEqual([kn.isDeferred(shared), kn.isDeferred(b), kn.isDeferred(other)], [false, true, true]); // prettier-ignore
  assert.deepEqual(a.tolist(), first);
  assert.deepEqual(shared.mul(2).tolist(), first);
  assert.deepEqual(b.tolist(), shared.mul(4).tolist());
});

/** What may be done with a lazy array, and what it must give for y = 3 x. */
const uses: Readonly<Record<string, (x: kn.NDArray, y: kn.NDArray) => unknown>> = {
  read: (_, y) => y.tolist(),
  feed: (_, y) => y.div(3).mul(3).tolist(),
  export: (x, y) => kn.exportGraph({ inputs: { x }, outputs: { y } }).run({ x }).y.tolist(),
  defer: (_, y) => kn.deferredCompute(() => y.add(0)).tolist(),
  compute: (_, y) => {
    kn.compute(y);
    return y.tolist();
  },
  hybridize: (_, y) =>
    kn
      .hybridize((v: kn.NDArray) => v.mul(1))(y)
      .tolist(),
  capture: (_, y) =>
    kn
      .hybridize(() => y.mul(1))()
      .tolist(),
  record: (_, y) => autograd.record(() => y.mul(1)).tolist(),
};

function orders<T>(of: readonly T[]): T[][] {
  return of.length === 0 ? [[]] : of.flatMap((each, i) => orders(of.toSpliced(i, 1)).map((rest) => [each, ...rest])); // prettier-ignore
}

for (const order of [
  ...orders(['read', 'feed', 'export']),
  ...Object.keys(uses).map((use) => [use, 'export', use]),
]) {
  test(`A lazy array can be read, fed to an ordinary operator, exported, or all of these, in any order: ${order.join(', ')}`, () => {
    const x = kn.array([1, 2]);
    const y = kn.deferredCompute(() => x.mul(3));
    for (const use of order) assert.deepEqual(uses[use](x, y), [3, 6], use);
  });
}

test('in any order, computed once: a lazy draw is the same draw in every use', () => {
  const x = kn.ones([3]);
  for (const order of orders(['read', 'feed', 'defer', 'compute', 'capture', 'record'])) {
    const y = kn.deferredCompute(() => counted(x));
    const seen = order
      .map((use) => uses[use](x, y))
      .map((values) => near(values, y.tolist(), 1e-6));
    assert.equal(seen.length, 6);
  }
});

test('`kn.compute(...arrays)` triggers explicitly', () => {
  const x = kn.ones([2]);
  const [a, b, c] = kn.deferredCompute(() => [counted(x), x.mul(2), x.mul(3)]);
  kn.compute(a, [b]);
  assert.deepEqual([a, b, c].map(kn.isDeferred), [false, false, true]);
  kn.compute(a, b, c, x);
  kn.compute();
  refused(() => kn.compute(a, 3 as never), { kind: kn.ArgumentError, op: 'compute', says: 'only arrays' }, [c]); // prettier-ignore
  assert.deepEqual([a, b, c].map(kn.isDeferred), [false, false, false]);
});

test('Errors: an output that depends on an array not among the inputs', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => x.mul(2).add(w));
  const error = refused(() => kn.exportGraph({ inputs: { x }, outputs: { y } }), { kind: kn.GraphError, op: 'exportGraph', says: /not among the inputs[^]*read by add/ }, [x, w]); // prettier-ignore
  assert.match(error.source!, /deferred\.test/);
  assert.deepEqual(y.tolist(), [4]);
});

test('Errors: an input connected to no output', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => {
    w.exp();
    return x.mul(2);
  });
  refused(() => kn.exportGraph({ inputs: { x, w }, outputs: { y } }), { kind: kn.GraphError, op: 'exportGraph', says: 'input w is connected to no output' }, [x, w, y]); // prettier-ignore
});

test('Errors: an array in the inputs no recorded operator used', () => {
  const [x, w] = [kn.array([1]), kn.array([2])];
  const y = kn.deferredCompute(() => x.mul(2));
  w.mul(2);
  for (const stranger of [w, kn.array([1])]) {
    refused(() => kn.exportGraph({ inputs: { x, w: stranger }, outputs: { y } }), { kind: kn.GraphError, op: 'exportGraph', says: 'input w was used by no recorded operator' }, [x, w, y]); // prettier-ignore
  }
});

test('Errors: exporting an array with no recorded history', () => {
  const x = kn.array([1]);
  for (const y of [x.mul(2), kn.array([1]), autograd.record(() => x.mul(2))]) {
    refused(() => kn.exportGraph({ inputs: { x }, outputs: { y } }), { kind: kn.GraphError, op: 'exportGraph', says: 'output y has no recorded history' }, [x, y]); // prettier-ignore
  }
});

test('Errors: no outputs, values that are no arrays, one array under two names', () => {
  const x = kn.array([1]);
  const y = kn.deferredCompute(() => x.mul(2));
  const op = 'exportGraph';
  refused(() => kn.exportGraph({ inputs: { x }, outputs: {} }), { kind: kn.GraphError, op, says: 'at least one output', lacks: ['expected', 'actual'] }); // prettier-ignore
  refused(() => kn.exportGraph({ inputs: { x }, outputs: { y: [y] as never } }), { kind: kn.ArgumentError, op, says: 'y is not an array' }); // prettier-ignore
  refused(() => kn.exportGraph({ inputs: { a: x, b: x }, outputs: { y } }), { kind: kn.GraphError, op, says: 'two inputs', lacks: ['expected'] }, [x]); // prettier-ignore
});

test('Errors: changing a lazy array in place', () => {
  const x = kn.array([1]);
  const y = kn.deferredCompute(() => {
    const y = x.mul(2);
    refused(() => y.assign(kn.array([5])), { kind: kn.GraphError, op: 'assign', says: 'lazy array', lacks: ['expected'] }, [y]); // prettier-ignore
    return y;
  });
  refused(() => y.assign(kn.array([5])), { kind: kn.GraphError, op: 'assign', says: 'lazy array', lacks: ['expected'] }, [y]); // prettier-ignore
  refused(() => x.assign(kn.array([5])), { kind: kn.TraceError, op: 'assign', says: 'captured code reads' }, [x]); // prettier-ignore
  assert.deepEqual(y.tolist(), [2]);
});

test('state is not written inside of deferredCompute; a hybridized step or predict mode will do', () => {
  const norm = new kn.nn.BatchNorm().initialize();
  const x = kn.array([[1], [3]]);
  norm.call(x);
  const state = [...norm.parameters().values()].map(({ value }) => value);
  const train = (): kn.NDArray => kn.autograd.trainMode(() => norm.call(x));
  const says = /hybridize the step[^]*predictMode/;
  kn.deferredCompute(() => refused(train, { kind: kn.TraceError, op: 'assign', says }, state));
  const predicted = kn.deferredCompute(() => norm.call(x));
  assert.deepEqual(predicted.tolist(), norm.call(x).tolist());
  const step = kn.hybridize(train);
  kn.deferredCompute(() => refused(step, { kind: kn.TraceError, op: 'assign', says }, state));
  step();
  assert.ok(Math.abs(Number(norm.runningMean.value.item()) - 0.2) < 1e-6);
});

test('Gradients may be recorded inside deferred compute', () => {
  const x = kn.array([1, 2, 3]);
  x.attachGrad();
  const { loss, second } = kn.deferredCompute(() => {
    const loss = autograd.record(() => x.pow(3).sum());
    loss.backward();
    return { loss, second: kn.grad((v: kn.NDArray) => kn.grad((u: kn.NDArray) => u.pow(3))(v))(x) };
  });
  assert.deepEqual([loss, second, x.grad!].map(kn.isDeferred), [true, true, true]);
  near([x.grad!.tolist(), loss.item(), second.tolist()], [[3, 12, 27], 36, [6, 12, 18]]);
});

test('Gradients recorded inside deferred compute can be exported', () => {
  const x = kn.array([1, 2, 3]);
  const { dx } = kn.deferredCompute(() => ({ dx: kn.grad((v: kn.NDArray) => v.pow(3))(x) }));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { dx } });
  near(graph.run({ x: [2, 3, 4] }).dx.tolist(), [12, 27, 48]);
});

test('deferred compute inside a recording: what it makes has gradients', () => {
  const x = kn.array([1, 2]);
  x.attachGrad();
  const y = autograd.record(() => kn.deferredCompute(() => x.square()).sum());
  y.backward();
  assert.deepEqual(x.grad!.tolist(), [2, 4]);
});

test('a lazy array may keep a gradient, whether or not it was read', () => {
  const x = kn.array([2]);
  for (const isRead of [false, true]) {
    const y = kn.deferredCompute(() => x.mul(3));
    if (isRead) y.tolist();
    y.attachGrad();
    assert.deepEqual(y.grad!.tolist(), [0]);
    autograd.record(() => y.square().sum()).backward();
    assert.deepEqual(y.grad!.tolist(), [12]);
  }
});

test("Inside `deferredCompute` reading computes (the value is then the user's own constant)", () => {
  const x = kn.array([1, 2]);
  const y = kn.deferredCompute(() => {
    const sum = x.sum();
    return Number(sum.item()) > 2 ? x.mul(sum.item() as number) : x;
  });
  const graph = kn.exportGraph({ inputs: { x }, outputs: { y } });
  assert.deepEqual(graph.run({ x: kn.array([10, 20]) }).y.tolist(), [30, 60]);
});

test('nested scopes join the outer one', () => {
  const x = kn.array([2]);
  const { inner, y } = kn.deferredCompute(() => {
    const inner = kn.deferredCompute(() => x.mul(3));
    assert.ok(kn.isDeferred(inner));
    return { inner, y: inner.add(1) };
  });
  const graph = kn.exportGraph({ inputs: { x }, outputs: { inner, y } });
  assert.deepEqual(lists(graph.run({ x: [5] })), { inner: [15], y: [16] });
});

test('arrays of one deferred scope are used in another, and both in one graph', () => {
  const x = kn.array([2]);
  const a = kn.deferredCompute(() => x.mul(3));
  const b = kn.deferredCompute(() => a.add(x));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { a, b } });
  assert.deepEqual(lists(graph.run({ x: [5] })), { a: [15], b: [20] });
});

inEveryFormWithGradients('constants made inside are part of the graph', {
  inputs: () => ({ x: kn.array([1, 2]) }),
  code: ({ x }) =>
    x
      .mul(kn.array([10, 20]))
      .add([1, 2])
      .add(kn.ones([2]).add(kn.arange(2)))
      .add(kn.array(new Float32Array([5, 6]))),
  gives: [17, 50],
  gradients: { x: [10, 20] },
});

inEveryFormWithGradients('views and slices stay symbolic', {
  inputs: (n) => ({ x: kn.arange(4 * n).reshape([n, 4]) }),
  code: ({ x }) => {
    const view = x.slice(':', [1, 3]).transpose();
    return { view, flat: x.reshape([-1]).slice([2, undefined, 3] as never), row: x.slice(0).expandDims(0) };
  },
  axes: { x: ['n', null] },
}); // prettier-ignore

inEveryFormWithGradients('a lazy array may be the result several times, and an input as well', {
  inputs: () => ({ x: kn.array([1, 2]), y: kn.array([5, 5]) }),
  code: ({ x, y }) => {
    const z = x.mul(y);
    return { z, again: [z, x], y };
  },
  gives: { z: [5, 10], again: [[5, 10], [1, 2]], y: [5, 5] },
  gradients: { x: [11, 11], y: [3, 5] },
}); // prettier-ignore

test('an asynchronous function cannot be deferred', () => {
  refused(() => kn.deferredCompute(async () => kn.ones([1])), { kind: kn.TraceError, op: 'deferredCompute', says: 'asynchronous' }); // prettier-ignore
});

test('an error inside ends the scope', () => {
  const x = kn.ones([2]);
  const fail = (): never => {
    throw new RangeError('mine');
  };
  assert.throws(() => kn.deferredCompute(fail), RangeError);
  assert.throws(() => autograd.record(() => kn.hybridize(fail)()), RangeError);
  assert.ok(!kn.isDeferred(x.add(1)));
  assert.deepEqual([autograd.isRecording(), autograd.isTraining()], [false, false]);
});
