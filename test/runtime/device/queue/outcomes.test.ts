import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { registerDevice } from '../../../../src/runtime/device/register.js';
import { FakeBackend } from '../../../support/fake-device.js';

/*
 * Elements that operators refuse, on a device that answers later: nothing waits until somebody reads, and then the
 * error is that of the CPU, for whatever was computed from what was refused.
 */

const device = new FakeBackend('checked');
const queue = registerDevice(device);

const table = kn.arange(12).reshape([4, 3]);
const there = table.to(device.name);
const at = (...positions: readonly number[]): kn.NDArray => kn.array(positions, { dtype: 'int32' });
const pick = (x: kn.NDArray, positions: kn.NDArray): kn.NDArray => x.take(positions, { axis: 0 });

async function errorOf(run: () => unknown): Promise<kn.KaonError> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof kn.KaonError);
    return error;
  }
  assert.fail('there was no error');
}

/** All that users see of an error but the line. */
const facts = ({ op, problem, expected, actual, advice, code }: kn.KaonError): object => ({ op, problem, expected, actual, advice, code }); // prettier-ignore

const forms: Readonly<Record<string, (x: kn.NDArray, positions: kn.NDArray) => kn.NDArray>> = {
  'one operator': pick,
  'two that check, of which the later one refuses': (x, positions) =>
    pick(x, positions.clip(0, 3)).add(pick(x, positions)),
  'a loop': (x, positions) =>
    kn.foreach(
      (row, sum) => [[], sum.add(pick(x, row))],
      positions,
      kn.zeros([3]),
    )[1] as kn.NDArray,
  'a loop in a loop': (x, positions) =>
    kn.foreach(
      (row, sum) => [
        [],
        kn.foreach(
          (again, inner) => [[], inner.add(pick(x, row.add(again)))],
          at(0, 0, -1),
          sum,
        )[1] as kn.NDArray,
      ],
      positions,
      kn.zeros([3]),
    )[1] as kn.NDArray,
  'a loop that ends by what it finds': (x, positions) =>
    kn.whileLoop(
      (k) => k.less(4),
      (k, sum) => [[], [k.add(1), sum.add(pick(x, pick(positions, k)))]],
      [kn.array(0, { dtype: 'int32' }), kn.zeros([3])],
      { maxIterations: 10 },
    )[1][1],
};

for (const [name, form] of Object.entries(forms)) {
  test(`the first element that is refused is told as on the CPU: ${name}`, async () => {
    const captured = kn.hybridize(form);
    const good = at(0, 3, 1, 2);
    assert.deepEqual(await captured(there, good.to(device.name)).data(), await captured(table, good).data()); // prettier-ignore
    for (const positions of [at(0, 9, 1, -8), at(-5, 0, 0, 0), at(0, 1, 2, 4)]) {
      const expected = await errorOf(() => captured(table, positions).data());
      const error = await errorOf(() => captured(there, positions.to(device.name)).data());
      assert.deepEqual(facts(error), facts(expected));
      assert.equal(error.source, expected.source);
    }
  });
}

test('steps are handed over without an answer, and one answer tells of all', async () => {
  const step = kn.hybridize((x: kn.NDArray, positions: kn.NDArray) => x.add(pick(there, positions).sum(0))); // prettier-ignore
  const positions = at(0, 3).to(device.name);
  let x = kn.zeros([300, 3]).to(device.name);
  x = step(x, positions);
  await queue.synchronize();
  const [{ reads }, launches] = [device, device.launches];
  for (let k = 0; k < 20; k++) x = step(x, positions);
  assert.ok(device.launches >= launches + 20);
  assert.equal(device.reads, reads);
  const [a, b, c] = await x.data();
  assert.deepEqual(
    [a, b, c].map(Number),
    [9, 11, 13].map((each) => 21 * each),
  );
  assert.equal(device.reads, reads + 1);
});

test('operators that check nothing do not ask for those before them', async () => {
  const positions = at(0, 3).to(device.name);
  const step = (): kn.NDArray => pick(there, positions).mul(2);
  await step().data();
  const { reads } = device;
  let last = step();
  for (let k = 0; k < 20; k++) last = step();
  assert.equal(device.reads, reads);
  assert.deepEqual([...(await last.data())].map(Number), [0, 2, 4, 18, 20, 22]);
  assert.equal(device.reads, reads + 1);
});

test('what was computed from something refused fails, and nothing else does', async () => {
  const bad = pick(there, at(0, 7).to(device.name));
  const [after, both] = [bad.mul(2).exp(), bad.add(pick(there, at(1, 1).to(device.name)))];
  const apart = pick(there, at(1, 2).to(device.name));
  assert.deepEqual(await apart.data(), await pick(table, at(1, 2)).data());
  for (const array of [after, both, bad]) {
    const { actual, op } = await errorOf(() => array.data());
    assert.deepEqual([actual, op], ['7', 'take']);
  }
  // Whoever computes with it later is told at once.
  assert.throws(() => after.add(1), kn.KaonError);
  await queue.synchronize();
});

test('errors of eager calls name the line of the call', async () => {
  const line = (error: kn.KaonError): number => Number(/:(\d+):\d+$/.exec(error.source ?? '')?.[1]);
  const here = await errorOf(() => pick(table, at(5)));
  const bad = there.take(at(5).to(device.name), { axis: 0 });
  const marker = new Error();
  const error = await errorOf(() => bad.data());
  assert.deepEqual(facts(error), facts(here));
  const [, markerLine] = /outcomes\.test\.[jt]s:(\d+)/.exec(marker.stack ?? '')!;
  assert.equal(line(error), Number(markerLine) - 1);
});

test(
  'a loop that the data ends does not go on behind what was refused',
  { timeout: 20_000 },
  async () => {
    const limit = pick(kn.array([3, 5]).to(device.name), at(2).to(device.name)).sum();
    const count = kn.hybridize(
      (most: kn.NDArray) =>
    // Without a bound: whatever is read for a position outside, it would go on for ever.
    kn.whileLoop((k) => k.less(most).logicalOr(most.equal(most)), (k) => [[], [k.add(1)]], [kn.zeros([])])[1][0], // prettier-ignore
    );
    const { actual } = await errorOf(() => count(limit).data());
    assert.equal(actual, '2');
  },
);
