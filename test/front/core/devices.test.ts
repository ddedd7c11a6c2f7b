import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';

/*
 * What arrays do on a device whose memory is its own and which answers by promises only. What they are worth is
 * compared with the same code on the CPU.
 */

const fake = new FakeBackend('fake');
registerDevice(fake);

const numbers = (rows: number, columns: number, from = 1): kn.NDArray =>
  kn.arange(from, from + rows * columns).reshape([rows, columns]).mul(0.125); // prettier-ignore

test('arrays go to a device and come back', async () => {
  for (const dtype of ['float32', 'int32', 'bool', 'uint8', 'float16', 'bfloat16'] as const) {
    const x = kn.array([0, 1, 1, 0], { dtype }).reshape([2, 2]);
    const there = x.to('fake');
    assert.equal(there.device, 'fake');
    assert.deepEqual(there.shape, [2, 2]);
    assert.equal(there.dtype, dtype);
    assert.equal(there.to('fake'), there);
    assert.deepEqual(await there.data(), await x.data());
    const back = await there.cpu();
    assert.equal(back.device, 'cpu');
    assert.deepEqual(back.tolist(), x.tolist());
    assert.equal(await x.cpu(), x);
  }
});

test('elements that have to be waited for are not read at once', () => {
  const there = numbers(2, 2).to('fake');
  const reads: readonly (() => unknown)[] = [
    () => there.dataSync(),
    () => there.tolist(),
    () => there.toString(),
    () => there.sum().item(),
    () => there.to('cpu'),
    () => JSON.stringify(there),
  ];
  for (const read of reads) {
    assert.throws(
      read,
      (error) => error instanceof kn.DeviceError && /await x\.cpu\(\)/.test(error.advice ?? ''),
      String(read),
    );
  }
});

const operations: Readonly<Record<string, (x: kn.NDArray, w: kn.NDArray) => kn.NDArray>> = {
  elementwise: (x, w) => x.mul(w).add(x.exp()).sub(2).tanh(),
  'a product of matrices': (x, w) => x.matmul(w.transpose()),
  'sums and extremes': (x, w) => x.sum(0).add(w.max(0)).sub(x.mean()),
  'views and slices': (x, w) => kn.concat([x.reshape([-1]), w.slice(':', 0)], 0),
  'softmax and comparison': (x, w) => kn.where(x.greater(w), kn.softmax(x), w),
  'a loop': (x, w) =>
    kn.foreach((row, h) => [h.add(row), h.mul(0.5).add(row)], x, w.sum(0))[0] as kn.NDArray,
};

for (const [name, compute] of Object.entries(operations)) {
  for (const form of ['eager', 'captured'] as const) {
    test(`${form} code computes on the device of its operands: ${name}`, async () => {
      const [x, w] = [numbers(4, 6, -9), numbers(4, 6, -12)];
      const run = form === 'eager' ? compute : kn.hybridize(compute);
      const before = fake.launches;
      const there = run(x.to('fake'), w.to('fake'));
      assert.ok(fake.launches > before, 'the device has run something');
      assert.equal(there.device, 'fake');
      assert.deepEqual((await there.cpu()).tolist(), compute(x, w).tolist());
      // The same code goes on for operands on the CPU.
      const here = run(x, w);
      assert.equal(here.device, 'cpu');
      assert.deepEqual(here.tolist(), compute(x, w).tolist());
    });
  }
}

test('a captured step with gradients runs on the device of its operands', async () => {
  const loss = (w: kn.NDArray, x: kn.NDArray): kn.NDArray => x.matmul(w).tanh().square().sum();
  const step = kn.hybridize((w: kn.NDArray, x: kn.NDArray, rate: kn.NDArray) =>
    w.sub((kn.grad(loss)(w, x) as kn.NDArray).mul(rate)),
  );
  const [x, rate] = [numbers(5, 3, -7), kn.array(0.1)];
  let [w, there] = [numbers(3, 2), numbers(3, 2).to('fake')];
  for (let i = 0; i < 3; i++) {
    w = step(w, x, rate);
    there = step(there, x.to('fake'), rate);
  }
  assert.equal(there.device, 'fake');
  assert.deepEqual((await there.cpu()).tolist(), w.tolist());
});

test('gradients flow through captured loops whose lengths the data decides', async () => {
  const loop = kn.hybridize(
    (x: kn.NDArray, w: kn.NDArray) =>
      kn.whileLoop(
        (y: kn.NDArray) => y.sum().less(20),
        (y: kn.NDArray) => [[], [y.mul(w).add(x)]],
        [x],
      )[1][0] as kn.NDArray,
  );
  const gradients = (x: kn.NDArray, w: kn.NDArray, order: 1 | 2): readonly kn.NDArray[] => {
    for (const each of [x, w]) each.attachGrad();
    const end = kn.autograd.record(() => {
      const y = loop(x, w);
      const first = y.mul(y).sum();
      if (order === 1) return first;
      const [g] = kn.autograd.grad([first], [w], { createGraph: true });
      return g.mul(g).sum();
    });
    end.backward();
    return [x.grad!, w.grad!];
  };
  for (const order of [1, 2] as const) {
    const here = gradients(numbers(2, 3), numbers(2, 3, 4), order);
    const there = gradients(numbers(2, 3).to('fake'), numbers(2, 3, 4).to('fake'), order);
    for (const [k, expected] of here.entries()) {
      const found = await there[k].data();
      // Backward recomputes there what it has saved here, in another order of roundings.
      [...expected.dataSync()].map(Number).forEach((value, i) => {
        const error = Math.abs(Number(found[i]) - value);
        assert.ok(
          error <= 1e-6 * Math.abs(value),
          `order ${order}: ${found}, not ${value} at ${i}`,
        );
      });
    }
  }
});

test('operands on different devices are refused, but for numbers and arrays of rank 0', async () => {
  const [x, there] = [numbers(2, 2), numbers(2, 2).to('fake')];
  assert.deepEqual((await there.add(1).add(kn.array(2)).cpu()).tolist(), x.add(3).tolist());
  const runs: Readonly<Record<string, () => unknown>> = {
    add: () => x.add(there),
    mul: () => kn.hybridize(() => there.mul(x))(),
  };
  for (const [op, run] of Object.entries(runs)) {
    assert.throws(
      run,
      (error) =>
        error instanceof kn.DeviceError &&
        error.op === op &&
        /cpu and fake|fake and cpu/.test(error.actual ?? ''),
    );
  }
});

test('what a device lacks is refused with advice, and changes nothing', () => {
  for (const dtype of ['int64', 'float64'] as const) {
    assert.throws(
      () => kn.zeros([3], { dtype }).to('fake'),
      (error) => error instanceof kn.DeviceError && error.actual === dtype,
    );
  }
  const there = numbers(2, 2).to('fake');
  assert.throws(() => there.astype('float64'), kn.DeviceError);
  const before = fake.bytesInUse;
  const large = kn.zeros([fake.limits.bufferBytes / 4 + 1]);
  assert.throws(
    () => large.to('fake'),
    (error) => error instanceof kn.DeviceError && /too large/.test(error.message),
  );
  assert.equal(fake.bytesInUse, before);
  assert.throws(() => there.to('nowhere'), kn.ArgumentError);
});

test('a device that is lost refuses the answers that it owes', async () => {
  const lossy = new FakeBackend('lossy');
  registerDevice(lossy);
  const [few, many] = [numbers(2, 2), numbers(32, 32)];
  const there = few.to('lossy');
  const pending = many.to('lossy').data();
  lossy.lose();
  await assert.rejects(pending, kn.DeviceError);
  // Few elements are known to the host.
  assert.deepEqual(await there.data(), few.dataSync());
});
