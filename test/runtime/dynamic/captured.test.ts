import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
const inputs = [[1, -2, 3, 4, -5], [], [-1, -2, -3, -4, -5], [7, 8, 9, 10, 11], [2, -1]];

/** The positive elements, and the sum of the squares of those among them that are over their mean. */
function selected(x: kn.NDArray): [kn.NDArray, kn.NDArray] {
  const positive = x.booleanMask(x.greater(0));
  const large = positive.booleanMask(positive.greater(positive.mean()));
  return [positive, large.mul(large).sum()];
}

function plainly(x: readonly number[]): { positive: number[]; squares: number; grad: number[] } {
  const positive = x.filter((e) => e > 0);
  const mean = total(positive) / positive.length;
  return {
    positive,
    squares: total(positive.filter((e) => e > mean).map((e) => e * e)),
    grad: x.map((e) => (e > 0 && e > mean ? 2 * e : 0)),
  };
}

test('eager, put off and hybridized code give the same at all sizes', () => {
  const captured = kn.hybridize(selected);
  const dynamic = kn.hybridize(selected, { dynamic: [['n']] });
  for (const elements of inputs) {
    const x = kn.array(elements, { dtype: 'float32' });
    const { positive, squares } = plainly(elements);
    const deferred = kn.deferredCompute(() => selected(x));
    for (const [a, b] of [selected(x), deferred, captured(x), dynamic(x), dynamic(x)]) {
      assert.deepEqual(a.shape, [positive.length]);
      assert.deepEqual(a.tolist(), positive);
      assert.equal(b.item(), squares);
    }
  }
});

test('gradients, of gradients too, in every mode', () => {
  const loss = (x: kn.NDArray): kn.NDArray => selected(x)[1];
  const captured = kn.hybridize(loss, { dynamic: [['n']] });
  const whole = kn.hybridize((x: kn.NDArray) => kn.grad(loss)(x), { dynamic: [['n']] });
  for (const elements of inputs) {
    const x = kn.array(elements, { dtype: 'float32' });
    const { grad } = plainly(elements);
    for (const f of [kn.grad(loss), kn.grad(captured), whole]) {
      assert.deepEqual(f(x).tolist(), grad);
    }
    const recorded = kn.array(elements, { dtype: 'float32' });
    recorded.attachGrad();
    const value = kn.autograd.record(() => captured(recorded));
    value.backward();
    assert.deepEqual(recorded.grad!.tolist(), grad);
    const second = kn.grad((y: kn.NDArray) => kn.grad(captured)(y).sum())(x);
    assert.deepEqual(
      second.tolist(),
      grad.map((g) => (g === 0 ? 0 : 2)),
    );
  }
});

test('an exported graph: types, runs, and a round trip through JSON', () => {
  const x = kn.array([1, -2, 3]);
  const [positive, squares] = kn.deferredCompute(() => selected(x));
  const graph = kn.exportGraph({ inputs: { x }, outputs: { positive, squares } });
  const again = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())));
  for (const each of [graph, again]) {
    const types = each.inferTypes({});
    assert.equal(types.positive.shape.length, 1);
    assert.equal(typeof types.positive.shape[0], 'object');
    assert.deepEqual(types.squares.shape, []);
    for (const elements of [
      [1, -2, 3],
      [-1, -1, -1],
      [4, 5, 6],
    ]) {
      const results = each.run({ x: kn.array(elements) });
      const expected = plainly(elements);
      assert.deepEqual(results.positive.tolist(), expected.positive);
      assert.equal(results.squares.item(), expected.squares);
    }
  }
});

test('captured code refuses positions in what was selected as eager code does', () => {
  const pick = (x: kn.NDArray, at: kn.NDArray): kn.NDArray => x.booleanMask(x.greater(0)).take(at);
  const captured = kn.hybridize(pick);
  const x = kn.array([5, -1, 7]);
  const outside = kn.array([0, 2], { dtype: 'int32' });
  for (const f of [pick, captured]) {
    assert.deepEqual(f(x, kn.array([1, 0], { dtype: 'int32' })).tolist(), [7, 5]);
    assert.throws(
      () => f(x, outside),
      (error) => error instanceof kn.ArgumentError && /index 2 is outside/.test(error.message),
    );
  }
});

test('a whole step whose loss selects leaves the state as eager steps do', () => {
  const batches = inputs.map((elements) => kn.array(elements, { dtype: 'float32' }));
  const train = (hybrid: boolean): number[] => {
    const weight = kn.array([1.5]);
    const seen = kn.array([0]);
    weight.attachGrad();
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => {
        const y = x.mul(weight);
        const kept = y.booleanMask(y.greater(2));
        return kept.sub(3).square().sum();
      });
      loss.backward();
      weight.assign(weight.sub(weight.grad!.mul(0.01)));
      seen.assign(seen.add(1));
      return loss;
    };
    const run = hybrid ? kn.hybridize(step, { dynamic: [['n']] }) : step;
    return [...batches.map((x) => run(x).item() as number), weight.item(), seen.item()].map(Number);
  };
  const [eager, captured] = [train(false), train(true)];
  assert.equal(eager.length, captured.length);
  eager.forEach((value, i) => {
    const error = Math.abs(value - captured[i]) / Math.max(1, Math.abs(value));
    assert.ok(error < 1e-5, `${i}: ${captured[i]} for ${value}`);
  });
  // By hand, in double precision.
  let weight = 1.5;
  const losses = inputs.map((elements) => {
    const kept = elements.filter((e) => e * weight > 2);
    const loss = total(kept.map((e) => (e * weight - 3) ** 2));
    weight -= 0.01 * total(kept.map((e) => 2 * e * (e * weight - 3)));
    return loss;
  });
  [...losses, weight, inputs.length].forEach((value, i) => {
    const error = Math.abs(value - eager[i]) / Math.max(1, Math.abs(value));
    assert.ok(error < 1e-4, `${i}: ${eager[i]} for ${value}`);
  });
});
