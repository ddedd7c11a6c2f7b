import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostArray } from '../../../src/base/dtype.js';
import { DeviceError } from '../../../src/base/errors.js';
import { DeviceQueue, fetched } from '../../../src/runtime/device/queue.js';
import { ManagedBuffer } from '../../../src/runtime/device/queue/managed.js';
import type { Waiting } from '../../../src/runtime/device/queue/waiting.js';
import { FakeBackend } from '../../support/fake-device.js';

function made(answersAtOnce: boolean): {
  readonly queue: DeviceQueue;
  readonly buffer: (...elements: readonly number[]) => ManagedBuffer;
} {
  const queue = new DeviceQueue(new FakeBackend('fake', { answersAtOnce }));
  const buffer = (...elements: readonly number[]): ManagedBuffer => {
    const room = queue.allocate('int32', elements.length);
    queue.write(room, Int32Array.from(elements));
    return room;
  };
  return { queue, buffer };
}

/** Writes twice the elements of one buffer into another, as a loop with a condition would: it has to know them. */
function* doubling(queue: DeviceQueue, from: ManagedBuffer, to: ManagedBuffer): Waiting<void> {
  const elements: HostArray = yield* fetched(queue, queue.memoryOf(from));
  to.host = null;
  queue.backend.write(
    queue.memoryOf(to),
    Int32Array.from(elements as Int32Array, (value) => 2 * value),
  );
}

test('work that needs no answer is done at once, and so is all on a device that answers at once', () => {
  const { queue, buffer } = made(true);
  const [one, two] = [buffer(1, 2), buffer(0, 0)];
  assert.equal(
    queue.submit({ begin: () => doubling(queue, one, two), needs: [one, two] }),
    undefined,
  );
  assert.deepEqual(queue.read(two), Int32Array.of(2, 4));
});

test('what is asked for behind work that waits happens behind it, in order', async () => {
  const { queue, buffer } = made(false);
  const [one, two, three] = [buffer(1, 2), buffer(0, 0), buffer(0, 0)];
  assert.ok(
    queue.submit({ begin: () => doubling(queue, one, two), needs: [one, two] }) instanceof Promise,
  );
  const elements = Int32Array.of(7, 7);
  queue.copy(two, three);
  const copied = queue.read(three);
  queue.write(three, elements);
  elements.fill(9); // which is no part of what was written
  const written = queue.read(three);
  assert.ok(
    queue.submit({ begin: () => doubling(queue, two, three), needs: [two, three] }) instanceof
      Promise,
  );
  const last = queue.read(three);
  queue.free(two);
  assert.deepEqual(await copied, Int32Array.of(2, 4));
  assert.deepEqual(await written, Int32Array.of(7, 7));
  assert.deepEqual(await last, Int32Array.of(4, 8));
  await queue.synchronize();
  assert.equal(queue.bytesInUse, 16);
});

test('elements that could not be computed are refused until there are others', async () => {
  const { queue, buffer } = made(false);
  const [one, two] = [buffer(1), buffer(2)];
  const error = new DeviceError('no');
  queue.fail(one, error);
  await assert.rejects(async () => queue.read(one), error);
  assert.throws(() => queue.copy(one, two), error);
  queue.write(one, Int32Array.of(3));
  assert.deepEqual(await queue.read(one), Int32Array.of(3));
  await queue.synchronize();
});

test('errors of work that waits are told by its promise, and do not stop what follows', async () => {
  const { queue, buffer } = made(false);
  const [one, two] = [buffer(1), buffer(0)];
  const failing = function* (): Waiting<void> {
    yield* fetched(queue, queue.memoryOf(one));
    throw new DeviceError('half-way');
  };
  const answer = queue.submit({ begin: failing });
  const after = queue.submit({ begin: () => doubling(queue, one, two), needs: [one, two] });
  await assert.rejects(async () => answer, DeviceError);
  await after;
  assert.deepEqual(await queue.read(two), Int32Array.of(2));
});

test('elements that the host keeps are read at once where nothing is waiting', async () => {
  const { queue, buffer } = made(false);
  const kept = new ManagedBuffer('int64', 1);
  queue.keep(kept, BigInt64Array.of(5n));
  assert.deepEqual(queue.readNow(kept), BigInt64Array.of(5n));
  const one = buffer(1);
  assert.equal(queue.readNow(one), null);
  void queue.submit({ begin: () => doubling(queue, one, one), needs: [one, one] });
  assert.equal(queue.readNow(kept), null);
  assert.deepEqual(await queue.read(kept), BigInt64Array.of(5n));
});

test('a device that is lost refuses what is waited for', async () => {
  const backend = new FakeBackend('fake');
  const queue = new DeviceQueue(backend);
  const one = queue.allocate('int32', 1);
  queue.write(one, Int32Array.of(1));
  const answer = queue.submit({ begin: () => doubling(queue, one, one), needs: [one, one] });
  backend.lose();
  await assert.rejects(async () => answer, DeviceError);
});

test('numbers that are shared stay where they are while work with them waits', async () => {
  const { queue, buffer } = made(false);
  const one = buffer(1);
  // As many as are kept.
  for (let k = 0; k < 256; k++) queue.scalar('int32', Int32Array.of(k));
  const waiting = queue.submit({
    *begin(): Waiting<HostArray> {
      const number = queue.scalar('int32', Int32Array.of(-1));
      yield* fetched(queue, queue.memoryOf(one));
      return yield* fetched(queue, number);
    },
    needs: [one],
  });
  const next = queue.submit({ begin: () => fetched(queue, queue.scalar('int32', Int32Array.of(-2))) }); // prettier-ignore
  assert.deepEqual([await waiting, await next], [Int32Array.of(-1), Int32Array.of(-2)]);
});
