import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate } from 'node:timers/promises';
import { add } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Executable, Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { programOf } from '../../support/programs.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const length = 2 ** 18;
const bytes = 4 * length;
const budget = 64 * bytes;
const large = { dtype: 'float32', shape: [length] } as const;

interface Setting {
  readonly device: Device;
  readonly executable: Executable;
  readonly x: Operand;
  readonly one: Operand;
}

function setting(): Setting {
  const device = new Device({ residentBytes: budget });
  const sum = programOf({ x: large, y: large }, ({ x, y }) => ({ z: add(x, y) }));
  const of = (value: number): Operand => ({
    storage: new Storage('float32', new Float32Array(length).fill(value)),
    shape: [length],
  });
  return { device, executable: compile(sum, { device }), x: of(2), one: of(1) };
}

/** The most bytes of results there ever were after `from`, of so many that nobody holds. */
function most({ device, executable, x, one }: Setting, results: number, from: number): number {
  let greatest = 0;
  for (let k = 0; k < results; k++) {
    executable.run([x, one]);
    if (k % 4 === 0) collect();
    if (k >= from) greatest = Math.max(greatest, device.residents.bytes);
  }
  return greatest;
}

test('synchronous code that keeps no results does not fill the memory of the device', async () => {
  const own = setting();
  // References that were made before the event loop went on are those that tell something.
  most(own, 8, 0);
  await setImmediate();
  assert.ok(most(own, 200, 100) < budget / 2);
});

test('without a turn of the event loop, few results stay beside those that programs work on', () => {
  const own = setting();
  assert.ok(most(own, 200, 0) <= 2 ** 25 + 4 * bytes);
});

test('results that somebody holds are right, whatever becomes of their neighbors', async () => {
  const own = setting();
  const { executable, x, one, device } = own;
  most(own, 8, 0);
  await setImmediate();
  const held: Operand[] = [];
  let last = x;
  for (let k = 1; k <= 200; k++) {
    [last] = executable.run([last, one]);
    if (k % 7 === 0) held.push(last);
    if (k % 4 === 0) collect();
  }
  held.forEach(({ storage }, i) => {
    assert.deepEqual([storage.host[0], storage.host[length - 1]], [2 + 7 * (i + 1), 2 + 7 * (i + 1)]); // prettier-ignore
  });
  assert.ok(device.residents.bytes <= budget);
});

test('memory of results that were dropped comes back when the event loop turns', async () => {
  const own = setting();
  const { executable, device, x, one } = own;
  (() => {
    for (let k = 0; k < 20; k++) executable.run([x, one]);
  })();
  const before = device.residents.bytes;
  for (let turn = 0; turn < 20; turn++) {
    await setImmediate();
    collect();
  }
  // What the newest generation has stays, and the operands.
  assert.ok(device.residents.bytes <= before - 8 * bytes);
});
