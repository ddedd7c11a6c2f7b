import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  conditionalGroups,
  Conditions,
  conditionsLength,
} from '../../../src/runtime/device/conditions.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import { FakeBackend } from '../../support/fake-device.js';

const backend = new FakeBackend('fake', { answersAtOnce: true });
const queue = new DeviceQueue(backend);
const conditions = new Conditions(queue);
const int32 = (
  ...values: number[]
): { buffer: ReturnType<FakeBackend['allocate']>; offset: number } => {
  const buffer = backend.allocate('int32', values.length);
  backend.write(buffer, Int32Array.from(values));
  return { buffer, offset: 0 };
};
const holding = (value: number): ReturnType<typeof int32> => {
  const buffer = backend.allocate('bool', 1);
  backend.write(buffer, Uint8Array.of(value));
  return { buffer, offset: 0 };
};
const elements = (
  at: { buffer: ReturnType<FakeBackend['allocate']>; offset: number },
  length: number,
): number[] => [
  ...(backend.read(at.buffer, { dtype: 'int32', length, offset: at.offset }) as Int32Array),
];

test('workgroups are a power of two, at most what there may be, and enough where that allows it', () => {
  for (const groups of [1, 2, 3, 4, 5, 63, 64, 65, 1000, 40000, 65535]) {
    for (const most of [1, 2, 3, 100, 65535]) {
      const wanted = Math.min(groups, most);
      const { groups: given } = conditionalGroups(wanted, most);
      assert.ok(given <= most && 2 * given > wanted && given < 2 * wanted);
      assert.ok(Number.isInteger(Math.log2(given)) || given === 65535);
    }
  }
});

test('a condition has the numbers of an indirect dispatch for each class of workgroups', () => {
  const block = conditions.blockAt(backend.allocate('int32', conditionsLength(3)), 2);
  for (const [around, predicate] of [
    [1, 1],
    [1, 0],
    [0, 1],
    [0, 0],
  ]) {
    // prettier-ignore
    conditions.choose(block, int32(around), holding(predicate));
    for (const [at, holds] of [
      [block.first, around & predicate],
      [block.second, around & (1 - predicate)],
    ] as const) {
      assert.deepEqual(elements(at, 1), [holds]);
      for (const wanted of [1, 2, 3, 1000, 65535]) {
        const { groups, offset } = conditionalGroups(wanted, 65535);
        assert.deepEqual(elements({ ...at, offset: at.offset + offset }, 3), [groups, holds, 1]);
      }
    }
  }
});

test('a loop ends for good, and counts what ran', () => {
  const block = conditions.blockAt(backend.allocate('int32', conditionsLength(1)), 0);
  const ran = [1, 1, 0, 1].map((predicate, k) => {
    conditions.go(block, int32(1), holding(predicate), k);
    return elements(block.first, 1)[0];
  });
  assert.deepEqual(ran, [1, 1, 0, 0]);
  assert.deepEqual(elements(block.count, 1), [2]);
  conditions.go(block, int32(0), holding(1), 0);
  assert.deepEqual([elements(block.first, 1), elements(block.count, 1)], [[0], [0]]);
});

test('counts of rows are those there are at most', () => {
  const block = conditions.blockAt(backend.allocate('int32', conditionsLength(1)), 0);
  for (const count of [-1, 0, 1, 2, 3, 5]) {
    for (let row = 0; row < 3; row++) {
      conditions.within(block, int32(1), int32(count), row);
      assert.deepEqual(elements(block.first, 1), [Number(row < count)]);
    }
    const rows = int32(1, 2, 3, 4, 5, 6);
    conditions.clearBeyond('i32', rows, int32(count), 3, 2);
    assert.deepEqual(
      elements(rows, 6),
      [1, 2, 3, 4, 5, 6].map((x, k) => (k < 2 * count ? x : 0)),
    );
    conditions.differ(block, int32(1), int32(count), 3, 3);
    const steps = Math.min(Math.max(count, 0), 3);
    assert.deepEqual(elements(block.second, 1), [(3 - steps) % 2]);
  }
});
