import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dtypes } from '../../../src/base/dtype.js';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';

/*
 * Captured programs on a device that lacks int64 and float64, and that answers later: what it lacks runs on the CPU in
 * the middle of them.
 */

const fake = new FakeBackend('with islands');
const queue = registerDevice(fake);

const numbers = (rows: number, columns: number, from = 1): kn.NDArray =>
  kn.arange(from, from + rows * columns).reshape([rows, columns]).mul(0.125); // prettier-ignore

const precise = (x: kn.NDArray, w: kn.NDArray): kn.NDArray =>
  x.mul(w).astype('float64').sum(0).div(3).astype('float32').add(w.mean(0));

test('what the device lacks runs on the CPU, between what runs on the device', async () => {
  const [x, w] = [numbers(4, 3), numbers(4, 3, -5)];
  const captured = kn.hybridize(precise);
  const before = fake.launches;
  const there = captured(x.to('with islands'), w.to('with islands'));
  assert.equal(there.device, 'with islands');
  assert.equal(there.dtype, 'float32');
  assert.deepEqual((await there.cpu()).tolist(), precise(x, w).tolist());
  assert.ok(fake.launches > before);
});

test('explain lists what ran on the CPU, with the bytes that it moved', async () => {
  const captured = kn.hybridize(precise);
  const [x, w] = [numbers(4, 3).to('with islands'), numbers(4, 3, -5).to('with islands')];
  await captured(x, w).data();
  const [{ islands }] = captured.explain().traces;
  assert.equal(islands.length, 1);
  const [{ device, calls, bytes }] = islands;
  assert.equal(device, 'with islands');
  assert.ok(
    calls.some((call) => /cast of float64 \(.*islands\.test/.test(call)),
    calls.join(),
  );
  // Twelve products of float32 come, three quotients of float32 go.
  assert.equal(bytes, 4 * 12 + 4 * 3);
  assert.match(
    captured.explain().toString(),
    /on the CPU instead of with islands: .*; 60 bytes moved/,
  );
});

test('strict captures refuse what the device lacks and name the lines', () => {
  const strict = kn.hybridize(precise, { strict: true });
  const [x, w] = [numbers(4, 3), numbers(4, 3, -5)];
  assert.deepEqual(strict(x, w).tolist(), precise(x, w).tolist());
  assert.throws(
    () => strict(x.to('with islands'), w.to('with islands')),
    (error) =>
      error instanceof kn.DeviceError &&
      /float64/.test(error.message) &&
      /cast of float64 \(.*islands\.test/.test(error.actual ?? '') &&
      /islands\.test/.test(error.source ?? ''),
  );
});

test('results of dtypes that the device lacks are kept for it by the host', async () => {
  const largest = (x: kn.NDArray): kn.NDArray => x.mul(-1).argmax(1).astype('int64');
  const captured = kn.hybridize(largest);
  const x = numbers(3, 4);
  const there = captured(x.to('with islands'));
  assert.equal(there.device, 'with islands');
  assert.equal(there.dtype, 'int64');
  assert.throws(() => there.tolist(), kn.DeviceError);
  assert.deepEqual((await there.cpu()).tolist(), largest(x).tolist());
  // Captured code goes on with them.
  const again = kn.hybridize((at: kn.NDArray) => at.add(1).astype('float32'));
  assert.deepEqual((await again(there).cpu()).tolist(), again(largest(x)).tolist());
});

const halving = (x: kn.NDArray): kn.NDArray =>
  kn.whileLoop(
    (y) => y.sum().greater(1),
    (y) => [[y], y.mul(0.5)],
    x,
    { maxIterations: 20 },
  )[1] as kn.NDArray;

test('a condition that the data decides is waited for, and what follows waits behind it', async () => {
  const captured = kn.hybridize(halving);
  const x = numbers(2, 3);
  const there = x.to('with islands');
  const halved = captured(there);
  assert.deepEqual(halved.shape, [2, 3]);
  const next = halved.add(there).mul(2);
  const twice = captured(next);
  const expected = halving(x);
  assert.deepEqual((await next.cpu()).tolist(), expected.add(x).mul(2).tolist());
  assert.deepEqual((await twice.cpu()).tolist(), halving(expected.add(x).mul(2)).tolist());
  assert.deepEqual((await halved.cpu()).tolist(), expected.tolist());
});

test('counts that the host has given are not read back for what it computes of them', async () => {
  const holding = new FakeBackend('holds int64', { dtypes: dtypes.filter((each) => each !== 'float64') }); // prettier-ignore
  registerDevice(holding);
  const training = (device: string): (() => kn.NDArray) & { readonly counts: () => kn.NDArray } => {
    const count = kn.array([0n, 4n], { dtype: 'int64' }).to(device);
    const x = kn.ones([2, 3]).to(device);
    const step = kn.hybridize((given: kn.NDArray) => {
      count.assign(count.add(1n));
      return given.mul(kn.pow(0.5, count.astype('float64')).astype('float32').expandDims(1));
    });
    return Object.assign(() => step(x), { counts: () => count });
  };
  const [there, here] = [training('holds int64'), training('cpu')];
  for (let k = 0; k < 4; k++) {
    const before = holding.reads;
    const made = there();
    assert.equal(holding.reads, before);
    assert.deepEqual((await made.cpu()).tolist(), here().tolist());
  }
  assert.deepEqual((await there.counts().cpu()).tolist(), [4n, 8n]);
  // The device changes them: what the host knew of them is no longer so.
  const doubled = there.counts();
  doubled.assign(doubled.mul(2n));
  assert.deepEqual(
    (await there().cpu()).tolist(),
    [1 / 2 ** 9, 1 / 2 ** 17].map((x) => [x, x, x]),
  );
});

test('a loop that draws leaves a state from which the next draws go on, without waiting', async () => {
  const holding = new FakeBackend('draws', { dtypes: dtypes.filter((each) => each !== 'float64') });
  const draws = registerDevice(holding);
  const walk = (x: kn.NDArray): kn.NDArray =>
    kn.whileLoop(
      (sum) => sum.less(3),
      (sum) => [[], [sum.add(kn.random.uniform([]))]],
      [x],
      { maxIterations: 20 },
    )[1][0] as kn.NDArray;
  const drawn = async (device: string): Promise<number[]> => {
    kn.random.seed(11);
    const run = kn.hybridize(walk);
    const made = [0, 1, 2, 2.5].map((start) => run(kn.array(start).to(device)));
    return Promise.all(made.map(async (each) => Number((await each.data())[0])));
  };
  const expected = await drawn('cpu');
  const next = kn.random.getState();
  kn.random.seed(11);
  const run = kn.hybridize(walk);
  const made = [0, 1, 2, 2.5].map((start) => run(kn.array(start).to('draws')));
  // How many there were only the device knows.
  assert.throws(() => kn.random.uniform([2]), kn.DeviceError);
  assert.throws(() => kn.random.getState(), kn.DeviceError);
  const found = await Promise.all(made.map(async (each) => Number((await each.data())[0])));
  found.forEach((x, k) => assert.ok(Math.abs(x - expected[k]) < 1e-5, `${x}, not ${expected[k]}`));
  await draws.synchronize();
  assert.deepEqual(kn.random.getState(), next);
});

test('loops with a part that the device lacks run it on the CPU, and the rest on the device', async () => {
  const sums = (x: kn.NDArray): kn.NDArray =>
    kn.foreach(
      (row, h) => {
        const sum = h.astype('float64').add(row.astype('float64')).div(3).astype('float32');
        return [sum.mul(2).exp(), sum.add(row)];
      },
      x,
      x.sum(0),
    )[0] as kn.NDArray;
  const x = numbers(5, 3, -4);
  const there = kn.hybridize(sums)(x.to('with islands'));
  assert.deepEqual((await there.cpu()).tolist(), sums(x).tolist());
});

test('draws go on from what a loop has left on the device where new arrays live, as they do on the CPU', async () => {
  const holding = new FakeBackend('draws there', { dtypes: dtypes.filter((each) => each !== 'float64') }); // prettier-ignore
  const draws = registerDevice(holding);
  const drawn = async (device: string): Promise<number[][]> => {
    kn.config.device = device;
    try {
      kn.random.seed(23);
      const run = kn.hybridize((x: kn.NDArray): kn.NDArray =>
        kn.whileLoop(
          (sum) => sum.less(2),
          (sum) => [[], [sum.add(kn.random.uniform([]))]],
          [x],
          { maxIterations: 20 },
        )[1][0] as kn.NDArray); // prettier-ignore
      const made = [run(kn.array(0)), kn.random.uniform([3]), kn.random.normal([2]), run(kn.array(1)), kn.random.uniform([])]; // prettier-ignore
      for (const each of made) assert.equal(each.device, device);
      return await Promise.all(made.map(async (each) => [...(await each.data())].map(Number)));
    } finally {
      kn.config.device = 'cpu';
    }
  };
  const expected = await drawn('cpu');
  const next = kn.random.getState();
  const found = await drawn('draws there');
  found.flat().forEach((x, k) => assert.ok(Math.abs(x - expected.flat()[k]) < 1e-5));
  await draws.synchronize();
  assert.deepEqual(kn.random.getState(), next);
});

for (const form of ['eager', 'captured'] as const) {
  test(`${form} code: a result whose size the data decides has its shape when it has been read`, async () => {
    const x = numbers(3, 3, -4);
    const mask = x.greater(-0.25).to('with islands');
    const pick = (a: kn.NDArray): kn.NDArray => a.booleanMask(mask);
    const made = (form === 'eager' ? pick : kn.hybridize(pick))(x.mul(2).to('with islands'));
    assert.equal(made.device, 'with islands');
    assert.equal(made.dtype, 'float32');
    const isRefused = (error: unknown): boolean =>
      error instanceof kn.DeviceError && /x\.data\(\)/.test(error.advice ?? '');
    for (const use of [() => made.shape, () => made.size, () => made.add(1), () => made.to('cpu'), () => made.tolist()]) assert.throws(use, isRefused); // prettier-ignore
    assert.deepEqual([...(await made.data())], [-0.25, 0, 0.25, 0.5, 0.75, 1]);
    assert.deepEqual(made.shape, [6]);
    assert.deepEqual((await made.add(1).cpu()).tolist(), [0.75, 1, 1.25, 1.5, 1.75, 2]);
    const copy = await made.cpu();
    assert.deepEqual([copy.shape, copy.device], [[6], 'cpu']);
  });
}

test('why a result of unknown size could not be computed is told to whoever wants it', async () => {
  const x = numbers(2, 3).to('with islands');
  const pick = kn.hybridize((a: kn.NDArray, at: kn.NDArray) => {
    const rows = a.take(at, { axis: 0 });
    return rows.booleanMask(rows.greater(0));
  });
  const bad = pick(x, kn.array([0, 5], { dtype: 'int32' }).to('with islands'));
  const isRefused = (error: unknown): boolean =>
    error instanceof kn.KaonError && error.op === 'take' && /5/.test(error.actual ?? '');
  await assert.rejects(() => bad.data(), isRefused);
  assert.throws(() => bad.shape, isRefused);
  await assert.rejects(() => bad.cpu(), isRefused);
  await queue.synchronize();
});

for (const form of ['eager', 'captured'] as const) {
  test(`${form} code: wrong elements are refused by whoever reads what was made of them`, async () => {
    const pick = (x: kn.NDArray, at: kn.NDArray): kn.NDArray => x.take(at, { axis: 0 });
    const run = form === 'eager' ? pick : kn.hybridize(pick);
    const x = numbers(3, 2);
    const there = x.to('with islands');
    const good = run(there, kn.array([2, 0], { dtype: 'int32' }).to('with islands'));
    assert.deepEqual((await good.cpu()).tolist(), pick(x, kn.array([2, 0], { dtype: 'int32' })).tolist()); // prettier-ignore
    const bad = run(there, kn.array([0, 5], { dtype: 'int32' }).to('with islands'));
    const after = bad.add(1);
    const isRefused = (error: unknown): boolean =>
      error instanceof kn.KaonError && /5/.test(error.actual ?? '') && error.op === 'take';
    await assert.rejects(() => after.data(), isRefused);
    await assert.rejects(() => bad.cpu(), isRefused);
    // Other arrays are as good as before.
    assert.deepEqual((await there.add(1).cpu()).tolist(), x.add(1).tolist());
    await queue.synchronize();
  });
}

test('an error that nobody has read is told by who waits for the device', async () => {
  const x = numbers(3, 2).to('with islands');
  x.take(kn.array([7], { dtype: 'int32' }).to('with islands'), { axis: 0 });
  await assert.rejects(() => queue.synchronize(), kn.KaonError);
  await queue.synchronize();
});

test('a part without operands runs on the CPU where new arrays live on the device', async () => {
  const { name } = registerDevice(new FakeBackend('fake with int64', { dtypes: dtypes.filter((dtype) => dtype !== 'float64') })); // prettier-ignore
  // Single integers of 64 bits are the host's, although the device has the dtype.
  const counted = kn.hybridize((x: kn.NDArray) => [x.add(1), kn.full([], 64, { dtype: 'int64' })]);
  kn.config.device = name;
  try {
    const [next, count] = counted(kn.ones([2]));
    assert.deepEqual([...(await next.data())], [2, 2]);
    assert.deepEqual([...(await count.data())], [64n]);
  } finally {
    kn.config.device = 'cpu';
  }
});
