import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { settings } from '../support/settings.js';

/* Calls and graphs of more arrays than a function of the engine has parameters. */

const many = settings.isLong ? 10_000 : 2_500;
const { nn } = kn;

const pairs = (count: number): kn.NDArray[] =>
  Array.from({ length: count }, (_, i) => kn.array([i, -i]));

for (const captured of [false, true]) {
  const how = captured ? 'captured' : 'eager';
  const maybe = <F extends (...args: never[]) => unknown>(f: F): F =>
    captured ? (kn.hybridize(f) as unknown as F) : f;

  test(`${many} arrays can be stacked and joined, ${how}`, () => {
    const xs = pairs(many);
    const stacked = maybe((...given: kn.NDArray[]) => kn.stack(given))(...xs);
    assert.deepEqual(stacked.shape, [many, 2]);
    const expected = xs.flatMap((_, i) => [i, -i]);
    assert.deepEqual([...stacked.dataSync()].map(Number), expected);
    const joined = maybe((...given: kn.NDArray[]) => kn.concat(given, -1))(...xs);
    assert.deepEqual([...joined.dataSync()].map(Number), expected);
    const beside = maybe((...given: kn.NDArray[]) => kn.stack(given, 1))(...xs);
    assert.deepEqual(beside.slice(1, [1, 4]).tolist(), [-1, -2, -3]);
  });

  test(`gradients reach each of ${many} arrays, ${how}`, () => {
    const xs = pairs(many);
    for (const x of xs) x.attachGrad();
    const f = maybe((...given: kn.NDArray[]) => kn.stack(given).square().sum());
    kn.autograd.record(() => f(...xs)).backward();
    for (const i of [0, 1, 99, 100, many / 2, many - 1]) {
      assertClose(xs[i].grad!.dataSync(), [2 * i, -2 * i], 0);
    }
  });

  test(`an array can be split into ${many} parts, and put together again, ${how}`, () => {
    const x = kn.arange(many * 2).reshape([2, many]);
    const f = maybe((a: kn.NDArray) => kn.split(a, many, 1));
    const parts = f(x);
    assert.equal(parts.length, many);
    assert.deepEqual(parts[7].tolist(), [[7], [many + 7]]);
    assert.deepEqual(parts[many - 1].tolist(), [[many - 1], [2 * many - 1]]);
    x.attachGrad();
    kn.autograd.record(() => f(x)[3].sum()).backward();
    assert.equal(x.grad!.sum().item(), 2);
    assert.deepEqual(x.grad!.slice(':', 3).tolist(), [1, 1]);
  });
}

test('parts of different sizes keep their places', () => {
  const sizes = Array.from({ length: 1500 }, (_, i) => i % 4);
  const xs = sizes.map((size, i) => kn.full([size], i));
  for (const x of xs) x.attachGrad();
  const weights = kn.arange(sizes.reduce((a, b) => a + b));
  kn.autograd.record(() => kn.concat(xs).mul(weights).sum()).backward();
  let start = 0;
  sizes.forEach((size, i) => {
    const expected = Array.from({ length: size }, (_, k) => start + k);
    assert.deepEqual(xs[i].grad!.tolist(), expected);
    start += size;
  });
});

test('as many arrays meet in one sum, one body and one branch', () => {
  const count = 1200;
  const xs = pairs(count);
  const total = kn.hybridize((...given: kn.NDArray[]) => given.reduce((a, b) => a.add(b)));
  const sum = (count * (count - 1)) / 2;
  assert.deepEqual(total(...xs).tolist(), [sum, -sum]);
  const rows = kn.hybridize(
    (d: kn.NDArray) => kn.foreach((x, s) => [kn.stack(xs).sum(0).mul(x), s], d, [])[0],
  );
  assert.deepEqual(rows(kn.array([1, 2])).tolist(), [[sum, -sum], [2 * sum, -2 * sum]]); // prettier-ignore
  const chosen = kn.hybridize((p: kn.NDArray) =>
    kn.cond(p, () => kn.stack(xs).sum(0), () => kn.stack(xs).max(0)),
  ); // prettier-ignore
  assert.deepEqual(chosen(kn.array(true)).tolist(), [sum, -sum]);
  assertClose(chosen(kn.array(false)).dataSync(), [count - 1, 0], 0);
  const each = kn.hybridize((...given: kn.NDArray[]) => given.map((x) => x.mul(2)));
  assert.deepEqual(each(...xs)[count - 1].tolist(), [2 * (count - 1), -2 * (count - 1)]);
});

test('einsum multiplies thousands of arrays', () => {
  const count = 4000;
  const factor = kn.array([1, 1 + 1 / count], { dtype: 'float64' });
  const xs = Array.from({ length: count }, () => factor.add(0));
  const product = kn.einsum(`${Array(count).fill('i').join(',')}->i`, ...xs);
  assertClose(product.dataSync(), [1, (1 + 1 / count) ** count], 1e-11);
});

test('a step of 2,000 parameters is one graph', () => {
  const layers = 1000;
  class Net extends nn.HybridBlock {
    biases: kn.nn.Dense[] = Array.from({ length: layers }, () => new nn.Dense(1, { inputs: 1 }));
    override forward(x: kn.NDArray): kn.NDArray {
      return this.biases.reduce((sum, layer) => sum.add(layer.call(x)), x.mul(0));
    }
  }
  const net = new Net();
  for (const layer of net.biases) {
    layer.weight.assign([[0.5]]);
    layer.bias!.assign([0]);
  }
  const learningRate = 1e-4;
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate });
  const step = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => net.call(x).sum());
    loss.backward();
    optimizer.step();
    return loss;
  });
  assert.equal(net.parameters().size, 2 * layers);
  assert.equal(step(kn.array([[3]])).item(), 1500);
  // Each weight loses 3 and each bias 1 times the learning rate.
  for (const layer of [net.biases[0], net.biases[layers - 1]]) {
    assert.ok(Math.abs(Number(layer.weight.value.item()) - (0.5 - 3 * learningRate)) < 1e-6);
    assert.ok(Math.abs(Number(layer.bias!.value.item()) + learningRate) < 1e-9);
  }
});
