import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dtypes } from '../../../src/base/dtype.js';
import { writeElement } from '../../../src/base/element.js';
import { ArgumentError } from '../../../src/base/errors.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { Storage } from '../../../src/runtime/memory/storage.js';

test('pinning keeps the elements of every dtype, whatever the memory does', () => {
  const device = new Device();
  const storages = dtypes.map((dtype) => {
    const storage = Storage.zeros(dtype, 5);
    for (let i = 0; i < 5; i++) writeElement('int8', storage.host, i, i);
    storage.pin(device);
    return storage;
  });
  const before = storages.map(({ host }) => host);
  Storage.zeros('uint8', 1 << 22).pin(device);
  storages.forEach((storage, i) => {
    assert.notEqual(storage.host, before[i], 'the memory has grown, and views on it are fresh');
    assert.deepEqual([...storage.host].map(Number), [0, 1, 2, 3, 4]);
    assert.ok(storage.addressOn(device) > 0);
    assert.equal(storage.addressOn(new Device()), -1);
    storage.unpin();
    assert.equal(storage.addressOn(device), -1);
    assert.deepEqual([...storage.host].map(Number), [0, 1, 2, 3, 4]);
  });
});

test('a pinned storage copies what is written, an unpinned one takes it over', () => {
  const storage = Storage.zeros('float32', 2);
  const home = new Float32Array([1, 2]);
  storage.write(home);
  assert.equal(storage.host, home);
  storage.pin();
  const other = new Float32Array([3, 4]);
  storage.write(other);
  other[0] = 9;
  assert.deepEqual([...storage.host], [3, 4]);
  assert.deepEqual([...home], [1, 2]);
  storage.unpin();
});

test('the number of elements cannot change', () => {
  assert.throws(() => Storage.zeros('float32', 2).write(new Float32Array(3)), ArgumentError);
});

test('pinning twice, moving between devices, unpinning twice, and empty storages', () => {
  const [a, b] = [new Device(), new Device()];
  const storage = new Storage('int32', new Int32Array([7, 8]));
  storage.pin(a);
  const address = storage.addressOn(a);
  storage.pin(a);
  assert.equal(storage.addressOn(a), address);
  storage.pin(b);
  assert.equal(storage.addressOn(a), -1);
  assert.deepEqual([...storage.host], [7, 8]);
  storage.unpin();
  storage.unpin();
  assert.deepEqual([...storage.host], [7, 8]);
  const empty = Storage.zeros('float64', 0);
  empty.pin(a);
  assert.equal(empty.host.length, 0);
  empty.unpin();
  assert.equal(empty.isPinned, false);
});

test('memory that is given back is used again', () => {
  const device = new Device({ maximumBytes: 1 << 20 });
  for (let i = 0; i < 50; i++) {
    const storage = Storage.zeros('float32', 100000);
    storage.pin(device);
    storage.unpin();
  }
  const first = device.arena(300000);
  assert.equal(device.arena(1000), first, 'an arena that is large enough stays');
  const { epoch } = device;
  assert.notEqual(device.arena(600000), -1);
  assert.notEqual(device.epoch, epoch, 'a new arena makes addresses stale');
});
