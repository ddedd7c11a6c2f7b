import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, flip, mul, neg, reshape, slice, sub } from '../../../src/ops/index.js';
import { DeviceError } from '../../../src/base/errors.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Residence, Residents } from '../../../src/runtime/memory/residents.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { programOf } from '../../support/programs.js';

/** As many floats as make an array large enough to stay on a device, operand or result. */
const length = 2 ** 16;
const bytes = 4 * length;
const large = { dtype: 'float32', shape: [length] } as const;

function filled(element: (i: number) => number): Operand {
  return { storage: new Storage('float32', Float32Array.from({ length }, (_, i) => element(i))), shape: [length] }; // prettier-ignore
}

/** All elements follow from the first. */
function assertElements({ storage }: Operand, element: (i: number) => number): void {
  assert.deepEqual(
    storage.host,
    Float32Array.from({ length }, (_, i) => element(i)),
  );
}

const sum = programOf({ x: large, y: large }, ({ x, y }) => ({ z: add(x, y) }));
const negative = programOf({ x: large }, ({ x }) => ({ y: neg(x) }));

test('what is read once leaves nothing on the device, what is read again stays', () => {
  const device = new Device();
  const executable = compile(programOf({ x: large, y: large }, ({ x, y }) => ({ z: slice(sub(x, y), [0, 4, 1]) })), { device }); // prettier-ignore
  const [x, y, z] = [filled((i) => i), filled(() => 1), filled(() => 2)];
  assert.deepEqual([...executable.run([x, y])[0].storage.host], [-1, 0, 1, 2]);
  assert.equal(device.residents.count, 0);
  assert.deepEqual([...executable.run([x, z])[0].storage.host], [-2, -1, 0, 1]);
  assert.deepEqual([x, y, z].map(({ storage }) => storage.isResident), [true, false, false]); // prettier-ignore
  assert.equal(device.residents.bytes, bytes);
  x.storage.write(Float32Array.from({ length }, (_, i) => 2 * i));
  assert.deepEqual([...executable.run([x, z])[0].storage.host], [-2, 0, 2, 4]);
  x.storage.fill(new Float32Array(length).fill(7));
  assert.deepEqual([...executable.run([x, x])[0].storage.host], [0, 0, 0, 0]);
  assert.deepEqual([...executable.run([x, z])[0].storage.host], [5, 5, 5, 5]);
});

test('results stay where they are until the host asks, and go there when others need the memory', () => {
  const device = new Device({ residentBytes: 4 * bytes });
  const executable = compile(sum, { device });
  const one = filled(() => 1);
  const results = [filled((i) => i % 5)];
  for (let k = 1; k <= 12; k++) {
    results.push(executable.run([results[k - 1], one])[0]);
    assert.ok(device.residents.bytes <= 4 * bytes);
  }
  assert.equal(results[12].storage.isResident, true);
  assert.equal(results[2].storage.isResident, false);
  results.forEach((result, k) => assertElements(result, (i) => (i % 5) + k));
  const { host } = results[12].storage;
  assert.equal(results[12].storage.host, host, 'the host keeps what it has asked for');
  assertElements(executable.run([results[12], results[3]])[0], (i) => 2 * (i % 5) + 15);
});

test('a budget may change, and be nothing at all', () => {
  const device = new Device();
  const executable = compile(negative, { device });
  const first = executable.run([filled((i) => i)])[0];
  assert.equal(device.residents.bytes, bytes);
  device.residents.budget = 0;
  assert.equal(device.residents.bytes, 0);
  assertElements(first, (i) => -i);
  for (const budget of [0, bytes - 1, bytes]) {
    device.residents.budget = budget;
    const own = compile(negative, { device });
    const [again] = own.run(own.run(own.run([first])));
    assertElements(again, (i) => i);
    assert.equal(device.residents.bytes, budget < bytes ? 0 : device.residents.bytes);
    assert.ok(device.residents.bytes <= budget);
  }
});

test('the elements of an array are right on any device, whichever has them', () => {
  const devices = [new Device(), new Device(), new Device({ residentBytes: bytes })];
  const executables = devices.map((device) => compile(sum, { device }));
  let x = filled((i) => i);
  const one = filled(() => 1);
  for (let step = 1; step <= 9; step++) {
    [x] = executables[step % 3].run([x, one]);
    if (step % 2 === 0) assertElements(executables[(step + 1) % 3].run([x, x])[0], (i) => 2 * (i + step)); // prettier-ignore
  }
  assertElements(x, (i) => i + 9);
});

test('an array moves from being resident to being pinned and back', () => {
  const device = new Device();
  const executable = compile(negative, { device });
  const [x] = executable.run([filled((i) => i)]);
  assert.equal(x.storage.isResident, true);
  x.storage.pin(device);
  assert.equal(x.storage.isResident, false);
  assert.equal(device.residents.count, 0);
  assertElements(x, (i) => -i);
  x.storage.unpin();
  assertElements(executable.run([x])[0], (i) => i);
  assertElements(executable.run([x])[0], (i) => i);
  assert.equal(x.storage.isResident, true);
});

test('results that go to given arrays take the place of what those had', () => {
  const device = new Device();
  const program = programOf({ x: large, y: large }, ({ x, y }) => ({
    sum: add(x, y),
    same: add(x, y),
    x,
    turned: flip(y, 0),
  }));
  for (const replaced of [undefined, [0, 1, null, null]]) {
    const executable = compile(program, { device, ...(replaced !== undefined && { replaced }) });
    const [x, y] = [filled((i) => i), filled(() => 3)];
    for (let step = 0; step < 3; step++) {
      const [a, b] = [x, y].map(({ storage }) => storage.copy());
      const [, , passed, turned] = executable.run([x, y], [x.storage, y.storage, null, null]);
      assertElements(x, (i) => a[i] as number + (b[i] as number)); // prettier-ignore
      assertElements(y, (i) => a[i] as number + (b[i] as number)); // prettier-ignore
      assertElements(passed, (i) => a[i] as number);
      assertElements(turned, (i) => b[length - 1 - i] as number);
    }
  }
});

test('one result under two names becomes two arrays', () => {
  const device = new Device();
  const program = programOf({ x: large }, ({ x }) => {
    const y = mul(x, 2);
    return { y, view: reshape(y, [256, 256]), again: y };
  });
  const results = compile(program, { device }).run([filled((i) => i)]);
  results[0].storage.write(new Float32Array(length));
  results[2].storage.fill(new Float32Array(length).fill(1));
  assertElements(results[1], (i) => 2 * i);
  assertElements(results[0], () => 0);
  assertElements(results[2], () => 1);
});

test('what is written to a part of an array appears there', () => {
  const device = new Device();
  const whole = new Float32Array(3 * length).fill(9);
  const part = Storage.window('float32', whole.subarray(length, 2 * length));
  const executable = compile(negative, { device });
  const x = filled((i) => i);
  for (let round = 1; round <= 3; round++) {
    executable.run([x], [part]);
    assert.deepEqual([...whole.subarray(length - 1, length + 3)], [9, -0, -1, -2]);
    assert.deepEqual([...whole.subarray(2 * length - 1, 2 * length + 1)], [1 - length, 9]);
    whole.fill(9);
  }
  for (let round = 1; round <= 3; round++) {
    whole.fill(round);
    assertElements(executable.run([{ storage: part, shape: [length] }])[0], () => -round);
  }
});

test('where memory is short, arrays leave it before a program fails', () => {
  const device = new Device({ maximumBytes: 9 * bytes, residentBytes: 8 * bytes });
  const executable = compile(sum, { device });
  const one = filled(() => 1);
  const results = [filled((i) => i)];
  for (let k = 1; k <= 20; k++) results.push(executable.run([results[k - 1], one])[0]);
  const pinned = results.slice(15, 18);
  for (const { storage } of pinned) storage.pin(device);
  results.forEach((result, k) => assertElements(result, (i) => i + k));
  // Three arrays for each run, and no memory for a fourth but what residents have.
  assertElements(executable.run([results[16], results[2]])[0], (i) => 2 * i + 18);
  for (const { storage } of pinned) storage.unpin();
});

test('a program for which there is only just enough memory copies its operands and results', () => {
  // Each value is made from the one before: two places are enough if the result may lie in one of them.
  const steps = programOf({ x: large }, ({ x }) => ({
    y: flip(add(flip(add(x, 1), 0), 2), 0),
  }));
  const x = filled((i) => i);
  for (const [arrays, stay] of [
    [3, false],
    [8, true],
  ] as const) {
    const device = new Device({ maximumBytes: arrays * bytes + 2 ** 17, residentBytes: 3 * bytes });
    const executable = compile(steps, { device, fuse: false });
    for (let round = 0; round < 3; round++) assertElements(executable.run([x])[0], (i) => i + 3);
    assert.equal(device.residents.count > 0, stay);
  }
  const device = new Device({ maximumBytes: bytes, residentBytes: bytes });
  assert.throws(() => compile(steps, { device, fuse: false }).run([x]), DeviceError);
  assertElements(x, (i) => i);
});

test('memory is scrambled for results, too', () => {
  const device = new Device();
  const address = device.scrambled(() => device.takeForResult(64));
  assert.deepEqual(device.view('uint8', address, 64), new Uint8Array(64).fill(0xff));
});

test('what a run uses stays until its end, whatever memory is asked for meanwhile', () => {
  const released: number[] = [];
  const residents = new Residents(
    {
      release: (address) => void released.push(address),
      view: (_, address, count) => new Float32Array(count).fill(address),
    },
    100,
  );
  const add = (address: number, isOnly = false): Residence =>
    residents.add(new Residence(residents, 'float32', 10, address, isOnly)).residence;
  residents.begin();
  const [first, second, third] = [add(1), add(2), add(3)];
  assert.equal(residents.evict(), false);
  assert.deepEqual([residents.count, residents.bytes, released.length], [3, 120, 0]);
  // Three of them are more than the budget.
  residents.end();
  assert.deepEqual(released, [1]);
  assert.equal(first.address, -1);
  residents.begin();
  residents.use(second);
  assert.equal(residents.evict(), true);
  assert.deepEqual(released, [1, 3]);
  assert.equal(third.address, -1);
  assert.equal(residents.evict(), false);
  residents.end();
  assert.equal(residents.evict(), true);
  assert.equal(residents.evict(), false);
  assert.deepEqual([residents.count, residents.bytes], [0, 0]);
});

test('what only the device has is saved before its memory is given away', () => {
  const residents = new Residents(
    { release: () => {}, view: (_, address, count) => new Float32Array(count).fill(address) },
    1000,
  );
  const { residence } = residents.add(new Residence(residents, 'float32', 3, 7, true));
  assert.equal(residence.saved, null);
  assert.equal(residents.evict(), true);
  assert.deepEqual([...residence.elements], [7, 7, 7]);
  assert.deepEqual([...residence.fetch()], [7, 7, 7]);
  assert.equal(residence.saved, null);
  const copied = residents.add(new Residence(residents, 'float32', 3, 8, true)).residence;
  assert.deepEqual([...copied.fetch()], [8, 8, 8]);
  assert.equal(copied.isOnly, false);
  assert.equal(residents.evict(), true);
  assert.equal(copied.saved, null, 'the host has it already');
});

test('a smaller budget is kept to at once', () => {
  const released: number[] = [];
  const memory = {
    release: (address: number) => void released.push(address),
    view: (_: unknown, address: number, count: number) => new Float32Array(count).fill(address),
  };
  const residents = new Residents(memory, 1000);
  for (let address = 1; address <= 5; address++) {
    residents.add(new Residence(residents, 'float32', 10, address, false));
  }
  residents.budget = 80;
  assert.deepEqual(released, [1, 2, 3]);
  residents.budget = 0;
  assert.deepEqual(released, [1, 2, 3, 4, 5]);
  assert.equal(residents.bytes, 0);
});
