import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, DeviceError, InternalError } from '../../../src/base/errors.js';
import { add, matmul } from '../../../src/ops/index.js';
import type { Backend } from '../../../src/runtime/device/backend.js';
import { CpuBackend } from '../../../src/runtime/device/cpu-backend.js';
import { DeviceExecutable } from '../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { FakeBackend } from '../../support/fake-device.js';
import { floats, programOf } from '../../support/programs.js';

const backends: readonly Backend[] = [
  new CpuBackend(new Device({ maximumBytes: 2 ** 22 })),
  new FakeBackend('fake', { budget: 2 ** 22 }),
];

for (const backend of backends) {
  test(`${backend.name}: buffers hold what is written and copied, and their bytes are counted`, async () => {
    const before = backend.bytesInUse;
    const [one, two] = [backend.allocate('float32', 3), backend.allocate('float32', 3)];
    assert.equal(backend.bytesInUse, before + 24);
    const elements = Float32Array.of(1, 2, 3);
    backend.write(one, elements);
    elements[0] = 9;
    backend.copy(one, two);
    backend.write(one, elements);
    assert.deepEqual(await backend.read(two), Float32Array.of(1, 2, 3));
    assert.deepEqual(await backend.read(one), Float32Array.of(9, 2, 3));
    const answer = backend.read(one);
    assert.equal(answer instanceof Promise, !backend.answersAtOnce);
    (await answer)[0] = 0;
    assert.deepEqual(await backend.read(one), Float32Array.of(9, 2, 3));
    await backend.synchronize();
    backend.free(one);
    backend.free(two);
    assert.equal(backend.bytesInUse, before);
    assert.throws(
      () => backend.free(one),
      (error) => error instanceof InternalError || error instanceof DeviceError,
    );
  });

  test(`${backend.name}: more than there is is refused, and changes nothing`, async () => {
    const kept = backend.allocate('int32', 2);
    backend.write(kept, Int32Array.of(5, 6));
    const before = backend.bytesInUse;
    assert.throws(() => backend.allocate('float32', 2 ** 21), DeviceError);
    assert.equal(backend.bytesInUse, before);
    assert.deepEqual(await backend.read(kept), Int32Array.of(5, 6));
    backend.free(kept);
  });

  test(`${backend.name}: a program runs on operands that are there`, async () => {
    const program = programOf(
      { x: { dtype: 'float32', shape: [2, 2] }, y: { dtype: 'float32', shape: [2, 2] } },
      ({ x, y }) => ({ product: matmul(x, y), sum: add(x, y) }),
    );
    const queue = new DeviceQueue(backend);
    const executable = new DeviceExecutable(program, queue, 'strict');
    const inputs = [floats([2, 2], [1, 2, 3, 4]), floats([2, 2], [5, 6, 7, 8])].map(
      ({ storage, shape }) => ({ storage: storage.onBackend(queue), shape }),
    );
    const target = Storage.zeros('float32', 4).onBackend(queue);
    const [product, sum] = executable.run(inputs, [null, target]);
    assert.equal(sum.storage, target);
    assert.deepEqual([...(await product.storage.read())], [19, 22, 43, 50]);
    assert.deepEqual([...(await sum.storage.read())], [6, 8, 10, 12]);
    executable.release();
  });
}

test('the memory of an array elsewhere is given back at once when it is released', () => {
  const [, fake] = backends;
  const before = fake.bytesInUse;
  const storage = Storage.zeros('float32', 5).onBackend(fake);
  assert.equal(fake.bytesInUse, before + 20);
  storage.release();
  assert.equal(fake.bytesInUse, before);
});

test('no device takes the name of the CPU', () => {
  assert.throws(() => registerDevice(new FakeBackend('cpu')), ArgumentError);
});
