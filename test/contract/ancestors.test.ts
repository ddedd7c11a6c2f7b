import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';
import { refused } from './refusals.js';

/* The known faults of the ancestors (architecture, section 10): one test stands for each that is not about control flow. */

const { autograd } = kn;

inEveryFormWithGradients('eager and graph modes that disagree: at size zero', {
  inputs: () => ({ x: kn.zeros([0, 3]), w: kn.ones([3, 2]), y: kn.array([[1, 2, 3]]) }),
  code: ({ x, w, y }) => ({
    product: x.matmul(w),
    sums: [x.sum(0), x.sum(1), x.sum()],
    joined: kn.concat([x, y, x]),
    none: y.slice([0, 0]).exp(),
    outer: kn.matmul(kn.zeros([2, 0]), kn.zeros([0, 2])).add(w.slice([0, 2])),
  }),
  gives: {
    product: [],
    sums: [[0, 0, 0], [], 0],
    joined: [[1, 2, 3]],
    none: [],
    outer: [[1, 1], [1, 1]],
  },
  gradients: { x: [], w: [[1, 1], [1, 1], [0, 0]], y: [[1, 1, 1]] },
}); // prettier-ignore

inEveryFormWithGradients(
  'eager and graph modes that disagree: sizes from zero up, one graph for all',
  {
    inputs: (n) => ({ x: kn.arange(2 * n).reshape([n, 2]), w: kn.array([1, 2]) }),
    code: ({ x, w }) => [x.mul(w).sum(0), x.slice([0, 0]), kn.concat([x, x]).mean(1), x.max(1)],
    axes: { x: ['n', null] },
  },
);

for (const n of [0, 1]) {
  test(`eager and graph modes that disagree: a graph for every size, at size ${n}`, () => {
    const f = (x: kn.NDArray): unknown => [x.mul(2).sum(0), kn.concat([x, x]), x.cumsum(0), x.sort(0)].map((y) => [y.shape, y.tolist()]); // prettier-ignore
    const captured = kn.hybridize((x: kn.NDArray) => [x.mul(2).sum(0), kn.concat([x, x]), x.cumsum(0), x.sort(0)], { dynamic: [['n', null]] }); // prettier-ignore
    for (const size of [4, n, 2, n]) {
      const x = kn.arange(3 * size).reshape([size, 3]);
      assert.deepEqual(captured(x).map((y) => [y.shape, y.tolist()]), f(x)); // prettier-ignore
    }
  });
}

test('eager and graph modes that disagree: unused inputs', () => {
  const f = (x: kn.NDArray, _unused: { a: kn.NDArray }): kn.NDArray => x.mul(2);
  const [x, a] = [kn.array([1]), kn.ones([5])];
  for (const g of [f, kn.hybridize(f)]) {
    for (let i = 0; i < 3; i++) assert.deepEqual(g(x, { a }).tolist(), [2]);
  }
  const graph = kn.hybridize(f).graphFor(x, { a });
  assert.equal(graph.inputNames.length, 2);
  const feeds = Object.fromEntries(graph.inputNames.map((name, i) => [name, [x, a][i]]));
  for (const each of [graph, kn.StaticGraph.fromJSON(graph.toJSON())]) {
    assert.deepEqual(Object.values(each.run(feeds))[0].tolist(), [2]);
  }
});

test('eager and graph modes that disagree: unused and passed-through states', () => {
  const f = (x: kn.NDArray, [h, c]: kn.NDArray[]): [kn.NDArray, kn.NDArray[]] => [x.add(h), [h, c]];
  const args = (): [kn.NDArray, kn.NDArray[]] => [kn.array([1]), [kn.array([2]), kn.array([3])]];
  const g = kn.hybridize(f);
  for (const run of [f, g, g, g]) {
    const [x, states] = args();
    for (const array of [x, ...states]) array.attachGrad();
    const [y, next] = autograd.record(() => run(x, states));
    y.add(next[1].mul(0)).tolist();
    assert.deepEqual([y, ...next].map((v) => v.tolist()), [[3], [2], [3]]); // prettier-ignore
    const total = autograd.record(() => {
      const [out, [h, c]] = run(x, states);
      return out.sum().add(h.mul(10).sum()).add(c.mul(100).sum());
    });
    total.backward();
    assert.deepEqual([x, ...states].map((v) => v.grad!.tolist()), [[1], [11], [100]]); // prettier-ignore
  }
});

test('padding left as garbage: a smaller run after a larger one, in the same memory', () => {
  const code = (x: kn.NDArray): kn.NDArray[] => {
    const padded = kn.pad(x.exp(), [[1, 2], [0, 1]]);
    return [
      padded.mul(2).add(1), kn.concat([x.mul(0), padded.slice([0, -3], [0, -1])]), kn.triu(x.matmul(x.transpose())),
      kn.scatterAdd(x.mul(0), x.mul(0).astype('int32'), x, { axis: 0 }), x.slice([0, 0]).sum(0), kn.repeat(x, 2, 0).cumsum(0),
    ];
  };
  const f = kn.hybridize(code, { dynamic: [['n', null]] });
  kn.random.seed(2);
  for (const n of [40, 1, 17, 2, 39, 1]) {
    const x = kn.random.uniform([n, 3], { low: 1, high: 2 });
    near(f(x).map((y) => y.tolist()), code(x).map((y) => y.tolist()), 1e-6);
  }
}); // prettier-ignore

test('padding left as garbage: results of an earlier call do not change with later ones', () => {
  const f = kn.hybridize((x: kn.NDArray) => ({ y: x.mul(2).exp(), x, z: x.sum(0) }));
  const runs = [1, 2, 3].map((k) => ({ x: kn.full([3, 2], k / 4), k }));
  const results = runs.map(({ x }) => f(x));
  results.forEach(({ y, x, z }, i) => {
    const value = (i + 1) / 4;
    near(y.tolist(), Array.from({ length: 3 }, () => Array.from({ length: 2 }, () => Math.exp(2 * value)))); // prettier-ignore
    near([x.slice(0, 0).item(), z.slice(0).item()], [value, 3 * value]);
  });
});

test('capture by name: arrays and parameters of equal names stay apart', () => {
  class Scale extends kn.nn.HybridBlock {
    weight: kn.nn.Parameter = new kn.nn.Parameter({ shape: [1] });
    override forward(x: kn.NDArray): kn.NDArray {
      return x.mul(this.weight.value);
    }
  }
  const [a, b] = [new Scale().initialize(), new Scale().initialize()];
  a.weight.assign([2]);
  b.weight.assign([5]);
  a.parameters();
  b.parameters();
  assert.equal(a.weight.name, b.weight.name);
  const f = (x: kn.NDArray): kn.NDArray => a.call(x).add(b.call(x));
  const captured = kn.hybridize(f, { nameOf: () => 'weight' });
  const x = kn.array([3]);
  for (const run of [f, captured, captured, captured]) {
    const y = autograd.record(() => run(x));
    y.backward();
    assert.deepEqual([y.tolist(), a.weight.grad!.tolist(), b.weight.grad!.tolist()], [[21], [3], [3]]); // prettier-ignore
  }
  const graph = captured.graphFor(x);
  assert.equal(graph.parameters.size, 2);
  const again = kn.StaticGraph.fromJSON(JSON.stringify(graph));
  assert.deepEqual(Object.values(again.run({ [again.inputNames[0]]: x }))[0].tolist(), [21]);
});

test('capture by name: an input called like an outside array, and inputs called like each other', () => {
  const weight = kn.array([10]);
  const f = kn.hybridize(
    (one: { weight: kn.NDArray }, two: { weight: kn.NDArray }) => one.weight.mul(two.weight).add(weight),
    { nameOf: () => 'weight' },
  ); // prettier-ignore
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(f({ weight: kn.array([2]) }, { weight: kn.array([3]) }).tolist(), [16]);
  }
  const graph = f.graphFor({ weight: kn.array([2]) }, { weight: kn.array([3]) });
  assert.equal(new Set([...graph.inputNames, ...graph.parameters.keys()]).size, 3);
});

test('no second-order gradient through compiled blocks', () => {
  class Cube extends kn.nn.HybridBlock {
    w: kn.nn.Parameter = new kn.nn.Parameter({ shape: [], dtype: 'float64' });
    override forward(x: kn.NDArray): kn.NDArray {
      return x.pow(3).mul(this.w.value.square());
    }
  }
  for (const active of [false, true]) {
    const net = new Cube().initialize().hybridize({ active });
    net.w.assign(5);
    const x = kn.array(2, { dtype: 'float64' });
    for (let i = 0; i < 3; i++) {
      near(
        kn
          .grad(kn.grad((v: kn.NDArray) => net.call(v)))(x)
          .item(),
        6 * 2 * 25,
        1e-12,
      );
      near(kn.grad(kn.grad(kn.grad((v: kn.NDArray) => net.call(v))))(x).item(), 6 * 25, 1e-12); // prettier-ignore
    }
    // A gradient penalty: d/dw (d/dx)^2, with the parameter's own gradient attached.
    autograd
      .record(() =>
        kn
          .grad((v: kn.NDArray) => net.call(v))(x)
          .square(),
      )
      .backward();
    near(net.w.grad!.item(), 4 * 5 ** 3 * (3 * 4) ** 2, 1e-12);
  }
});

test('a trace that silently froze the first branch: on a JavaScript value that changes', () => {
  let flag = true;
  const f = kn.hybridize((x: kn.NDArray) => (flag ? x.exp() : x.sin()));
  const x = kn.ones([2]);
  f(x);
  flag = false;
  const error = refused(() => f(x), { kind: kn.TraceError, op: 'hybridize', says: 'changed between two calls' }, [x]); // prettier-ignore
  const line = /ancestors\.test\.[jt]s:\d+:\d+/;
  assert.match(error.expected!, line);
  assert.match(error.actual!, line);
  assert.match(error.expected!, /exp/);
  assert.match(error.actual!, /sin/);
});

test('a trace that silently froze the first branch: on a number that counts, a constant, another array', () => {
  let count = 0;
  const arrays = [kn.array([1, 2]), kn.array([3, 4])];
  const changing: Readonly<Record<string, (x: kn.NDArray) => unknown>> = {
    attribute: (x) => x.mul(++count),
    constant: (x) => x.mul(kn.array([++count, 1])),
    outside: (x) => x.mul(arrays[count++ % 2]),
    structure: (x) => (count++ % 2 === 0 ? [x] : { x }),
    result: (x) => [x, count++ % 2],
    fewer: (x) => (count++ % 2 === 0 ? x.exp().exp() : x.exp()),
    shape: (x) => x.reshape(count++ % 2 === 0 ? [2, 1] : [1, 2]),
    draws: (x) => (count++ % 2 === 0 ? x.add(kn.random.uniform([2])) : x.add(kn.ones([2]))),
  };
  for (const [name, code] of Object.entries(changing)) {
    count = 0;
    const f = kn.hybridize(code);
    const x = kn.ones([2]);
    f(x);
    assert.throws(() => f(x), kn.TraceError, name);
  }
});

test('a trace that silently froze the first branch: on a value that was read', () => {
  const f = kn.hybridize((x: kn.NDArray) => (Number(x.sum().item()) > 0 ? x.exp() : x.sin()));
  const x = kn.ones([2]);
  const error = refused(() => f(x), { kind: kn.TraceError, op: 'sum', says: 'value of an array was read', lacks: ['expected'] }, [x]); // prettier-ignore
  assert.match(error.source!, /ancestors\.test/);
  assert.match(error.advice!, /where|cond/);
});

inEveryFormWithGradients('a dropout mask frozen on replay: fresh at each call, reproducible from the seed, the same one backwards', {
  inputs: (n) => ({ x: kn.ones([n, 8]) }),
  code: ({ x }) => {
    const dropout = new kn.nn.Dropout(0.5);
    return dropout.call(dropout.call(x).mul(3));
  },
  training: true,
}); // prettier-ignore

test('a dropout mask frozen on replay: no two calls agree', () => {
  const net = new kn.nn.Dropout(0.5).initialize();
  for (const active of [false, true]) {
    net.hybridize({ active });
    const masks = autograd.trainMode(() => [1, 2, 3, 4].map(() => String(net.call(kn.ones([64])).tolist()))); // prettier-ignore
    assert.equal(new Set(masks).size, 4);
  }
});

test('parameter gradients overwritten when a block is called twice', () => {
  for (const active of [false, true]) {
    const net = new kn.nn.Dense(2, { inputs: 2, useBias: false }).initialize().hybridize({ active });
    net.weight.assign([[1, 2], [3, 4]]);
    const [x, y] = [kn.array([[1, 10]]), kn.array([[100, 1000]])];
    for (let i = 0; i < 3; i++) {
      autograd.record(() => net.call(x).add(net.call(y)).sum()).backward();
      assert.deepEqual(net.weight.grad!.tolist(), [[101, 1010], [101, 1010]]);
      autograd.record(() => net.call(net.call(x)).sum()).backward();
      // d(1 W W x)/dW = (W' 1) x' + 1 (W x)'
      assert.deepEqual(net.weight.grad!.tolist(), [[4 + 21, 40 + 43], [6 + 21, 60 + 43]]);
    }
  }
}); // prettier-ignore

test('first call executed twice: state is written, and numbers are drawn, once', () => {
  const results = [false, true].map((active) => {
    kn.random.seed(8);
    const net = new kn.nn.Sequential(new kn.nn.BatchNorm(), new kn.nn.Dropout(0.5)).initialize();
    net.hybridize({ active });
    const statistics = autograd.trainMode(() =>
      [1, 2, 3].map((k) => {
        const y = net.call(kn.array([[k, 0], [0, 2 * k]]));
        return [y.tolist(), ...[...net.parameters().values()].map(({ value }) => value.tolist())];
      }),
    );
    return { statistics, draws: kn.random.getState().counter };
  });
  near(results[1].statistics, results[0].statistics, 1e-6);
  assert.deepEqual([results[0].draws, results[1].draws], [3n, 3n]);
}); // prettier-ignore

test('first call executed twice: the function runs once for the first call, and once more for each check', () => {
  let runs = 0;
  const f = kn.hybridize((x: kn.NDArray) => (runs++, x.mul(2)));
  const seen = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => (f(kn.ones([1])), runs));
  assert.deepEqual(seen, [1, 2, 2, 3, 3, 3, 3, 4, 4], 'checks at the calls 2, 4 and 8');
});

inEveryForm('export that loses structure: names, lists in records in lists, arrays that occur twice', {
  inputs: () => ({ x: kn.array([1, 2]), y: kn.array([3, 4]) }),
  code: ({ x, y }) => {
    const z = x.mul(y);
    return [{ first: [z, [x, { z }]] }, [[[]]], { '0': y, 'a.b': z, '__proto': x }];
  },
}); // prettier-ignore

test('export that loses structure: the names of a saved block', () => {
  class Net extends kn.nn.HybridBlock {
    layers: kn.nn.Dense[] = [new kn.nn.Dense(3, { inputs: 2 }), new kn.nn.Dense(1, { inputs: 3 })];
    override forward(x: { left: kn.NDArray; right: kn.NDArray }): { sum: kn.NDArray; all: kn.NDArray[] } {
      const all = this.layers.map((layer, i) => (i === 0 ? layer.call(x.left.add(x.right)) : layer.call(kn.ones([1, 3]))));
      return { sum: all[0].sum().add(all[1].sum()), all };
    }
  }
  const net = new Net().initialize();
  const [left, right] = [kn.array([[1, 2]]), kn.array([[3, 4]])];
  const graph = kn.StaticGraph.fromJSON(JSON.stringify(net.graphFor({ left, right })));
  assert.deepEqual(graph.inputNames, ['left', 'right']);
  assert.deepEqual(graph.outputNames, ['sum', 'all.0', 'all.1']);
  assert.deepEqual([...graph.parameters.keys()].sort(), [...net.parameters().keys()].sort());
  const { sum, all } = net.call({ left, right });
  const result = graph.run({ left, right });
  assert.deepEqual([result.sum, result['all.0'], result['all.1']].map((y) => y.tolist()), [sum, ...all].map((y) => y.tolist()));
}); // prettier-ignore
