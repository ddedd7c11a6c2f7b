import assert from 'node:assert/strict';
import { test } from 'node:test';
import { supportsMemory64 } from '../../../src/codegen/wasm/index.js';
import { DeviceError } from '../../../src/base/errors.js';
import { add, foreach, less, matmul, mul, sum, whileLoop } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';
import { collectGarbage } from '../../support/garbage.js';

/*
 * Devices whose addresses have 32 bits for 4 MiB only. What their programs compute is computed here, too; that code
 * for 64 bits computes the same as that for 32 is tested by the variant `memory64`.
 */

const options = { skip: !supportsMemory64() && 'this engine has no memory64' };
const narrowBytes = 2 ** 22;
/** Arrays of 1 MiB. */
const length = 2 ** 18;
const vector = { dtype: 'float32', shape: [length] } as const;

const growingDevice = (maximumBytes: number = 2 ** 26, threads: number = 1): Device =>
  new Device({ addressing: 'i32, then i64', narrowBytes, maximumBytes, threads, grain: 1 });

/** Whole numbers, so that sums are exact. */
const ramp = (from: number): number[] => Array.from({ length }, (_, i) => (from + i) % 97);

const bumped = (device: Device): ReturnType<typeof compile> =>
  compile(
    programOf({ x: vector, y: vector }, ({ x, y }) => ({ x: add(x, mul(y, 2)) })),
    { device, tier: 'wasm', replaced: [0] },
  );

test(
  'a memory that outgrows 32-bit addresses keeps its contents, and programs go on',
  options,
  () => {
    const device = growingDevice();
    const bump = bumped(device);
    const arrays: Operand[] = [];
    const expected: number[][] = [];
    const pinned = (): void => {
      const operand = floats([length], ramp(arrays.length));
      operand.storage.pin(device);
      arrays.push(operand);
      expected.push(ramp(arrays.length - 1));
    };
    const step = (): void => {
      const [k, j] = [0, arrays.length - 1];
      bump.run([arrays[k], arrays[j]], [arrays[k].storage]);
      expected[k] = expected[k].map((value, i) => value + 2 * expected[j][i]);
    };
    for (let k = 0; k < 3; k++) pinned();
    step();
    assert.equal(device.addresses, 'i32');
    for (let k = 0; k < 6; k++) {
      pinned();
      step();
    }
    assert.equal(device.addresses, 'i64');
    assert.ok(device.buffer.byteLength > narrowBytes);
    assert.ok(arrays.some(({ storage }) => storage.addressOn(device) >= narrowBytes));
    arrays.forEach((array, k) => assert.deepEqual(elementsOf(array), expected[k], `array ${k}`));
    assert.equal(bump.tiers()[0].tier, 'wasm');
  },
);

test('a run whose arena or operands need more addresses runs with them at once', options, () => {
  // Large operands are read where they are, small ones are copied to the arena.
  for (const residentBytes of [0, 2 ** 25]) {
    const device = new Device({
      addressing: 'i32, then i64',
      narrowBytes,
      maximumBytes: 2 ** 26,
      residentBytes,
    });
    const rows = 5;
    const program = programOf({ x: { ...vector, shape: [rows, length] } }, ({ x }) => ({
      y: add(mul(x, 3), 1),
      sums: sum(x, 1),
    }));
    const executable = compile(program, { device, tier: 'wasm' });
    const xs = Array.from({ length: rows }, (_, r) => ramp(r));
    for (let run = 0; run < 3; run++) {
      const [y, sums] = executable.run([floats([rows, length], xs.flat())]);
      assert.deepEqual(
        elementsOf(y),
        xs.flat().map((value) => 3 * value + 1),
      );
      elementsOf(sums).forEach((value, r) => {
        const exact = xs[r].reduce((all, x) => all + x, 0);
        assert.ok(Math.abs(Number(value) - exact) <= 1e-5 * exact);
      });
    }
    assert.equal(device.addresses, 'i64');
  }
});

test('loops, conditions and kept weights work with addresses of 64 bits', options, () => {
  const columns = 64;
  const row = { dtype: 'float32', shape: [columns] } as const;
  const body = programOf({ x: row, state: row }, ({ x, state }) => {
    const next = add(mul(state, 0.5), x);
    return { row: next, state: next };
  });
  const condition = programOf({ x: row }, ({ x }) => ({ goesOn: less(sum(x), 4000) }));
  const doubling = programOf({ x: row }, ({ x }) => ({ x: mul(x, 2) }));
  const program = programOf(
    {
      x: { dtype: 'float32', shape: [4, columns] },
      state: row,
      w: { dtype: 'float32', shape: [columns, 256] },
    },
    ({ x, state, w }) => {
      const [all, last] = foreach(body, { data: [x], states: [state], captures: [] });
      const [grown, count] = whileLoop(condition, doubling, { states: [last], captures: [] });
      return { all, grown, count, product: matmul(x, w) };
    },
  );
  const ones = (shape: readonly number[]): Operand =>
    floats(shape, Array<number>(shape.reduce((all, extent) => all * extent, 1)).fill(1));
  const device = new Device({ addressing: 'i64' });
  const executable = compile(program, { device, tier: 'wasm' });
  const w = ones([columns, 256]);
  for (let run = 0; run < 4; run++) {
    const [all, grown, count, product] = executable.run([ones([4, columns]), ones([columns]), w]);
    // 1.5, 1.75, 1.875, 1.9375 from a state of 1; 64 times the last is 124, below 4000 for five doublings more.
    const last = 1.9375;
    assert.deepEqual(
      [0, 1, 2, 3].map((r) => Number(elementsOf(all)[r * columns])),
      [1.5, 1.75, 1.875, last],
    );
    assert.ok(elementsOf(grown).every((value) => value === last * 64));
    assert.deepEqual(elementsOf(count).map(Number), [6]);
    assert.ok(elementsOf(product).every((value) => value === columns));
  }
  assert.equal(device.addresses, 'i64');
});

test(
  'what 64-bit addresses do not hold either is refused before anything is computed',
  options,
  () => {
    const device = growingDevice(3 * narrowBytes);
    const x = floats([length], ramp(1));
    x.storage.pin(device);
    const large = programOf({ x: { ...vector, shape: [16 * length] } }, ({ x: y }) => ({
      y: add(y, 1),
    }));
    const executable = compile(large, { device, tier: 'wasm' });
    assert.throws(
      () => executable.run([floats([16 * length], Array<number>(16 * length).fill(0))]),
      (error) => error instanceof DeviceError && /\d+ more bytes/.test(error.actual ?? ''),
    );
    assert.deepEqual(elementsOf(x), ramp(1));
    const [y] = bumped(device).run([x, x]);
    assert.deepEqual(
      elementsOf(y),
      ramp(1).map((value) => 3 * value),
    );
  },
);

/** Runs until a worker has taken part. */
async function meet(device: Device, run: () => unknown): Promise<void> {
  while (device.pool.joins === 0) {
    run();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const notKept = async (threads: number): Promise<void> => {
  const device = growingDevice(2 ** 26, threads);
  const bump = bumped(device);
  const inputs = [floats([length], ramp(0)), floats([length], ramp(1))];
  bump.run(inputs);
  if (threads > 1) await meet(device, () => bump.run(inputs));
  const before = new WeakRef(device.memory);
  const kept = Array.from({ length: 6 }, () => {
    const operand = floats([length], ramp(2));
    operand.storage.pin(device);
    return operand;
  });
  assert.equal(device.addresses, 'i64');
  await collectGarbage();
  assert.equal(before.deref(), undefined);
  const [y] = bump.run(inputs);
  const second = ramp(1);
  assert.deepEqual(
    elementsOf(y),
    ramp(0).map((value, i) => value + 2 * second[i]),
  );
  assert.equal(kept.length, 6);
  if (threads > 1) await device.pool.close();
};

for (const threads of [1, 2]) {
  const name = `a memory that was replaced is not kept by the code that ran on it, on ${threads} threads`;
  test(name, options, () => notKept(threads));
}
