import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { FakeEngine } from '../support/fake-engine.js';

/* Networks whose graphs are optimized for an engine. */

class Net extends kn.nn.HybridBlock {
  readonly first = new kn.nn.Dense(5, { activation: 'relu' });
  readonly drop = new kn.nn.Dropout(0.5);
  readonly last = new kn.nn.Dense(3);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(this.drop.call(this.first.call(x)));
  }
}

function made(): { readonly net: Net; readonly x: kn.NDArray } {
  kn.random.seed(5);
  const net = new Net().initialize();
  const x = kn.random.normal([4, 6]);
  net.call(x);
  return { net, x };
}

/** Equal but for the order in which products are summed. */
function close(actual: kn.NDArray, expected: kn.NDArray): void {
  const [a, b] = [actual, expected].map((each) => Array.from(each.dataSync(), Number));
  a.forEach((each, i) => assert.ok(Math.abs(each - b[i]) < 1e-6, `${each}, not ${b[i]}`));
}

const isProduct = ({ op }: kn.EngineCall): boolean => op === 'matmul';

for (const isLate of [false, true]) {
  test(`a network is compiled before its first call, ${isLate ? 'later' : 'at once'}`, async () => {
    const { net, x } = made();
    const expected = net.call(x);
    const engine = new FakeEngine('early', { supports: isProduct, isLate });
    kn.registerBackend(engine);
    const before = kn.random.getState();
    assert.equal(await net.optimizeFor(x, { backend: 'early' }), net);
    assert.deepEqual(kn.random.getState(), before, 'nothing was drawn');
    assert.deepEqual([engine.graphs.length, engine.runs], [2, 2]);
    close(await net.call(x).cpu(), expected);
    assert.deepEqual([engine.graphs.length, engine.runs], [2, 4]);
    assert.equal(net.explain().traces.length, 1);
  });
}

test('a network stays as it was where the engine fails', async () => {
  const { net, x } = made();
  const expected = net.call(x).tolist();
  kn.registerBackend({
    name: 'failing',
    supports: isProduct,
    compile: async () => {
      await Promise.resolve();
      throw new Error('not today');
    },
  });
  await assert.rejects(() => net.optimizeFor(x, { backend: 'failing' }), /not today/);
  assert.deepEqual(net.call(x).tolist(), expected);
  await assert.rejects(() => net.optimizeFor([x], { backend: 'nobody' }), kn.ArgumentError);
});

test('a network trains with parts of its steps on an engine', async () => {
  const losses = async (backend: string | null): Promise<number[]> => {
    const { net, x } = made();
    const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.05 });
    const step = (input: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => net.call(input).square().mean());
      loss.backward();
      optimizer.step();
      return loss;
    };
    const run = backend === null ? step : kn.hybridize(step, { backend });
    const found: number[] = [];
    for (let k = 0; k < 4; k++) found.push(Number((await run(x).cpu()).item()));
    return found;
  };
  const expected = await losses(null);
  for (const isLate of [false, true]) {
    const engine = new FakeEngine('training', { supports: isProduct, isLate });
    kn.registerBackend(engine);
    const found = await losses('training');
    found.forEach((loss, k) => assert.ok(Math.abs(loss - expected[k]) < 1e-5, `${found.join()} ${expected.join()}`)); // prettier-ignore
    // Two products forward in each step, at least.
    assert.ok(engine.runs >= 4 * 2);
  }
});
