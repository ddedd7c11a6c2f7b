import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/* `Block.summary`: what it says, and that nothing is different afterwards. */

const { autograd, nn } = kn;

const dense = (): kn.nn.Sequential =>
  new nn.Sequential(new nn.Dense(4), new nn.BatchNorm(), new nn.Dropout(0.5), new nn.Dense(2));

/** The rows of a table by the names of their blocks. */
const rowsOf = (text: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    text
      .split('\n')
      .map((line) => line.trim().split(/\s{2,}/))
      .map(([name, ...cells]) => [name, cells]),
  );

for (const how of ['eager', 'captured', 'captured and used']) {
  test(`every block has its row: ${how}`, () => {
    const net = dense().initialize();
    if (how !== 'eager') net.hybridize();
    if (how === 'captured and used') net.call(kn.ones([3, 5]));
    const traces = net.explain().traces.length;
    const rows = rowsOf(net.summary(kn.ones([3, 5])));
    assert.deepEqual(rows.get('layers.0'), ['Dense', 'float32[3, 4]', '24']);
    assert.deepEqual(rows.get('layers.1'), ['BatchNorm', 'float32[3, 4]', '16']);
    assert.deepEqual(rows.get('layers.2'), ['Dropout', 'float32[3, 4]', '0']);
    assert.deepEqual(rows.get('layers.3'), ['Dense', 'float32[3, 2]', '10']);
    assert.deepEqual(rows.get('(whole)'), ['Sequential', 'float32[3, 2]', '0']);
    assert.equal(net.explain().traces.length, traces);
    assert.deepEqual(net.call(kn.ones([2, 5])).shape, [2, 2]);
    assert.equal(net.explain().traces.length, how === 'eager' ? 0 : traces + 1);
  });
}

test('running statistics, random numbers and modes are as they were', () => {
  const net = dense().initialize();
  autograd.trainMode(() => net.call(kn.random.normal([6, 5])));
  const state = (): unknown => [
    [...net.parameters()].map(([name, { value }]) => [name, value.tolist()]),
    kn.random.getState(),
    autograd.isTraining(),
  ];
  const before = state();
  autograd.trainMode(() => net.summary(kn.ones([3, 5])));
  assert.deepEqual(state(), before);
});

for (const Layer of [nn.StatefulLSTM, nn.StatefulGRU]) {
  const steps = (n: number, t: number): kn.NDArray =>
    kn.linspace(-1, 1, n * t * 2).reshape([n, t, 2]);

  /** What a layer says to three calls, with something done before the second and the third. */
  const replies = (between: (layer: InstanceType<typeof Layer>) => void, active: boolean): unknown => {
    kn.random.seed(1);
    const layer = new Layer(3).initialize().hybridize({ active });
    return [1, 2, 3].map((call) => {
      if (call > 1) between(layer);
      return layer.call(steps(2, call)).tolist();
    });
  }; // prettier-ignore

  for (const active of [false, true]) {
    test(`the states of a ${Layer.name} are carried on as if there had been no summary, ${active ? 'captured' : 'eager'}`, () => {
      const expected = replies(() => undefined, active);
      assert.deepEqual(
        replies((layer) => layer.summary(steps(2, 5)), active),
        expected,
      );
    });
  }

  test(`a ${Layer.name} that has not run yet starts from zeros after a summary of another batch`, () => {
    kn.random.seed(1);
    const [fresh, seen] = [1, 2].map(() => {
      kn.random.seed(1);
      return new Layer(3).initialize();
    });
    assert.match(seen.summary(steps(5, 2)), /float32\[5, 2, 3\]/);
    assert.deepEqual(seen.call(steps(2, 4)).tolist(), fresh.call(steps(2, 4)).tolist());
  });
}

test('a call that fails leaves state as it was, and blocks as they are', () => {
  class Failing extends nn.HybridBlock {
    norm: kn.nn.BatchNorm = new nn.BatchNorm();
    count: kn.nn.Parameter = new nn.Parameter({ shape: [], gradReq: 'null' });
    override forward(x: kn.NDArray): kn.NDArray {
      this.count.assign(this.count.value.add(1));
      return this.norm.call(x).reshape([7]);
    }
  }
  const net = new Failing().initialize().hybridize();
  assert.throws(() => net.summary(kn.ones([2, 3])), kn.ShapeError);
  assert.equal(net.count.value.item(), 0);
  assert.ok(!Object.hasOwn(net, 'forward') && !Object.hasOwn(net.norm, 'forward'));
});
