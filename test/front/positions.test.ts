import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toModule } from '../../src/artifact/index.js';
import * as kn from '../../src/index.js';
import { presenceReport } from '../../src/passes/host/watch/report.js';
import { watching } from '../../src/passes/host/watch/watch.js';
import { refuses } from './support.js';

type Body = (...args: kn.NDArray[]) => kn.NDArray;

const x = kn.arange(8).reshape([4, 2]);
const int = (values: number | number[]): kn.NDArray => kn.array(values, { dtype: 'int32' });
const [yes, no] = [kn.array(true), kn.array(false)];

interface Case {
  readonly name: string;
  readonly body: Body;
  readonly good: readonly kn.NDArray[];
  readonly bad: readonly kn.NDArray[];
  readonly index: number;
}

/** What positions are computed by takes more than a look at the inputs of a graph. */
const cases: readonly Case[] = [
  {
    name: 'positions that a reduction decides',
    body: (x, i) => kn.take(x, i.add(i.sum()), { axis: 0 }),
    good: [x, int([0, 1])],
    bad: [x, int([2, 3])],
    index: 7,
  },
  {
    name: 'positions that are rows of a loop',
    body: (x, tokens) =>
      kn.foreach(
        (token: kn.NDArray, sum: kn.NDArray) => [[], sum.add(kn.take(x, token, { axis: 0 }))],
        tokens,
        kn.zeros([2]),
      )[1],
    good: [x, int([0, 1, 3, 2, 1, 0, 1, 2, 3, -4])],
    bad: [x, int([0, 1, 2, 9, 1, 0, 1, 2, 12, 3])],
    index: 9,
  },
  {
    name: 'positions that a whileLoop counts',
    body: (x, n) =>
      kn.whileLoop(
        (i: kn.NDArray) => i.less(n),
        (i: kn.NDArray, sum: kn.NDArray) => [[], [i.add(1), sum.add(kn.take(x, i, { axis: 0 }))]],
        [int(0), kn.zeros([2])],
      )[1][1],
    good: [x, int(4)],
    bad: [x, int(6)],
    index: 4,
  },
  {
    name: 'positions in a branch',
    body: (x, i, which) =>
      kn.cond(
        which,
        () => kn.gather(x, i.mul(2).expandDims(1).broadcastTo([1, 2]), 0),
        () => kn.take(x, i, { axis: 0 }).mul(3),
      ),
    good: [x, int([3]), no],
    bad: [x, int([3]), yes],
    index: 6,
  },
  {
    name: 'positions in a loop within a loop',
    body: (x, tokens) =>
      kn.foreach(
        (row: kn.NDArray, sum: kn.NDArray) => [
          [],
          kn.foreach(
            (token: kn.NDArray, inner: kn.NDArray) => [[], inner.add(kn.take(x, token, { axis: 0 }))],
            row,
            sum,
          )[1],
        ],
        tokens,
        kn.zeros([2]),
      )[1],
    good: [x, int([0, 1, 2, 3]).reshape([2, 2])],
    bad: [x, int([0, 1, -5, 3]).reshape([2, 2])],
    index: -5,
  },
]; // prettier-ignore

for (const { name, body, good, bad, index } of cases) {
  test(`${name} are refused in captured code and in modules as eagerly`, async () => {
    const words = [`index ${index} is outside the axis`, 'an integer from -4 to 3'];
    refuses(() => body(...bad), kn.ArgumentError, ...words);
    const captured = kn.hybridize(body);
    for (let call = 0; call < 2; call++) {
      assert.deepEqual(captured(...good).tolist(), body(...good).tolist());
      const error = refuses(() => captured(...bad), kn.ArgumentError, ...words);
      assert.match(error.source ?? '', /positions\.test/);
    }
    const graph = captured.graphFor(...good);
    const text = `data:text/javascript,${encodeURIComponent(toModule(graph))}`;
    const { run } = (await import(text)) as { run: (feeds: object) => Record<string, { data: Float32Array }> }; // prettier-ignore
    const feed = (arrays: readonly kn.NDArray[]): object =>
      Object.fromEntries(graph.inputNames.map((input, i) => [input, arrays[i].tolist()]));
    const expected = body(...good).reshape([-1]).tolist(); // prettier-ignore
    assert.deepEqual([...run(feed(good))['output'].data], expected);
    assert.throws(() => run(feed(bad)), /is outside/);
    assert.deepEqual([...run(feed(good))['output'].data], expected);
  });
}

test('a step that would have used positions outside an axis changes nothing', () => {
  const table = new kn.nn.Embedding(4, 2);
  table.initialize();
  const optimizer = new kn.optim.SGD(table.parameters(), { learningRate: 0.1 });
  const step = (i: kn.NDArray): kn.NDArray => {
    const loss = kn.autograd.record(() => table.call(i.add(i.max())).square().sum());
    loss.backward();
    optimizer.step();
    return loss;
  };
  const captured = kn.hybridize(step);
  captured(int([0, 1]));
  const [weight] = [...table.parameters().values()];
  const before = weight.value.tolist();
  refuses(() => captured(int([1, 2])), kn.ArgumentError, 'index 4 is outside the axis');
  assert.deepEqual(weight.value.tolist(), before);
  captured(int([0, 1]));
  assert.notDeepEqual(weight.value.tolist(), before);
});

test('in a recording nothing is left of a call that is refused', () => {
  const captured = kn.hybridize(cases[0].body);
  const y = kn.ones([4, 2]);
  y.attachGrad();
  kn.autograd.record(() => refuses(() => captured(y, int([2, 3])), kn.ArgumentError, 'index 7'));
  kn.autograd.record(() => captured(y, int([0, 1])).sum()).backward();
  assert.deepEqual(y.grad!.tolist(), [[0, 0], [1, 1], [1, 1], [0, 0]]); // prettier-ignore
});

test('positions that operators give are not looked at again', () => {
  const sorted = kn.hybridize((x: kn.NDArray) => kn.gather(x, kn.argsort(x, 1), 1));
  const values = kn.random.normal([3, 5]);
  assert.deepEqual(sorted(values).tolist(), kn.sort(values, 1).tolist());
  assert.equal(watching(sorted.graphFor(values).parts.program, presenceReport), null);
});
