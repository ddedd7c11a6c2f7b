import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { cpu } from '../../../src/runtime/memory/device.js';
import { collectGarbage } from '../../support/garbage.js';
import { near } from '../support.js';

const { autograd } = kn;

/** More than `slab.ts` cuts from slabs, less and more than what lives on the device. */
const sizes: readonly number[] = [40, 300];

/** The gradients of `sum((x y) ^ 2)` by hand, with everything in plain numbers. */
function byHand(x: kn.NDArray, y: kn.NDArray): readonly [number[][], number[][]] {
  const [a, b] = [x.tolist(), y.tolist()] as [number[][], number[][]];
  const turn = (m: number[][]): number[][] => m[0].map((_, j) => m.map((row) => row[j]));
  const times = (p: number[][], q: number[][]): number[][] => p.map((row) => q[0].map((_, j) => row.reduce((sum, v, k) => sum + v * q[k][j], 0))); // prettier-ignore
  const g = times(a, b).map((row) => row.map((v) => 2 * v));
  return [times(g, turn(b)), times(turn(a), g)];
}

function matrices(size: number): readonly [kn.NDArray, kn.NDArray] {
  kn.random.seed(size);
  return [kn.random.normal([size, size]), kn.random.normal([size, size])];
}

const loss = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => x.matmul(y).square().sum();

for (const size of sizes) {
  test(`gradients stay what they are while later passes use memory again, ${size}`, () => {
    const [x, y] = matrices(size);
    x.attachGrad();
    const kept: (readonly [kn.NDArray, kn.NDArray])[] = [];
    for (let i = 0; i < 4; i++) {
      const value = autograd.record(() => loss(x.mul(i + 1), y));
      const [gy] = autograd.grad(value, [y], { retainGraph: true });
      value.backward();
      kept.push([x.grad!, gy]);
    }
    const [gx, gy] = byHand(x, y);
    kept.forEach(([atX, atY], i) => {
      const square = (i + 1) ** 2;
      near(atX.div(square).tolist(), gx, 2e-3);
      near(atY.div(square).tolist(), gy, 2e-3);
    });
  });
}

test('a pass leaves nothing on the device but gradients, and no collection has to find it', async () => {
  await collectGarbage();
  const [x, y] = matrices(300);
  const [a, b] = [x.exp(), y.exp()];
  a.attachGrad();
  const matrix = 4 * 300 * 300;
  const value = autograd.record(() => a.mul(b).tanh().matmul(b).square().sum());
  const before = cpu.residents.bytes;
  value.backward();
  const more = cpu.residents.bytes - before;
  assert.equal(more, matrix, `${more / matrix} matrices`);
});

test('what a function of the user has seen stays', () => {
  const seen: kn.NDArray[] = [];
  const square = kn.customGradient({
    forward: (x: kn.NDArray) => x.mul(x),
    backward: ([g], { inputs: [x] }) => {
      const twice = x.mul(2);
      seen.push(g, twice);
      return [g.mul(twice)];
    },
  });
  const x = kn.arange(2000).div(1000);
  x.attachGrad();
  for (let i = 1; i <= 3; i++) {
    autograd.record(() => square(x.mul(i)).mul(i).sum()).backward();
    near(x.grad!.tolist(), x.mul(2 * i ** 3).tolist());
  }
  seen.forEach((array, k) => {
    const i = 1 + Math.floor(k / 2);
    near(array.tolist(), (k % 2 === 0 ? kn.full([2000], i) : x.mul(2 * i)).tolist());
  });
});

test('so does what a checkpointed function has made when it ran again', () => {
  const seen: kn.NDArray[] = [];
  const wave = kn.checkpoint((x: kn.NDArray) => {
    const sine = x.sin();
    seen.push(sine);
    return sine.mul(sine);
  });
  const x = kn.arange(2000).div(1000);
  x.attachGrad();
  for (let i = 0; i < 3; i++) autograd.record(() => wave(x).sum()).backward();
  near(x.grad!.tolist(), x.mul(2).sin().tolist());
  assert.equal(seen.length, 6);
  for (const array of seen) near(array.tolist(), x.sin().tolist());
});

test('arrays whose gradients have the same elements, the head gradient and what was recorded stay', () => {
  const [x, y] = [kn.arange(2000), kn.arange(2000).add(1)];
  for (const array of [x, y]) array.attachGrad();
  const head = kn.full([2, 1000], 3);
  const sum = autograd.record(() => x.add(y).reshape([2, 1000]));
  sum.backward(head, { retainGraph: true });
  sum.backward(head.mul(2));
  const flat = kn.full([2000], 6).tolist();
  assert.deepEqual([x.grad!.tolist(), y.grad!.tolist()], [flat, flat]);
  assert.deepEqual(head.tolist(), kn.full([2, 1000], 3).tolist());
  assert.deepEqual(sum.reshape([-1]).tolist(), x.mul(2).add(1).tolist());
  x.grad!.assign(kn.zeros([2000]));
  assert.deepEqual(y.grad!.tolist(), flat);
});

test('the gradient of pinned elements that was asked for is a value: the next pass does not change it', () => {
  const weight = new kn.nn.Parameter({ shape: [50, 40], init: kn.nn.initializer.constant(1) });
  weight.initialize();
  const x = kn.ones([3, 40]);
  const grads: kn.NDArray[] = [];
  for (let i = 1; i <= 3; i++) {
    autograd.record(() => x.mul(i).matmul(weight.value.transpose()).sum()).backward();
    grads.push(weight.grad!);
  }
  grads.forEach((grad, i) =>
    assert.deepEqual(grad.tolist(), kn.full([50, 40], 3 * (i + 1)).tolist()),
  );
  grads[2].assign(kn.zeros([50, 40]));
  assert.equal(weight.grad!.sum().item(), 0);
});

test('gradients are added to those that lie beside pinned elements', () => {
  const weight = new kn.nn.Parameter({
    shape: [50, 40],
    init: kn.nn.initializer.constant(1),
    gradReq: 'add',
  });
  weight.initialize();
  for (let i = 1; i <= 3; i++) autograd.record(() => weight.value.mul(i).sum()).backward();
  assert.deepEqual(weight.grad!.tolist(), kn.full([50, 40], 6).tolist());
});
