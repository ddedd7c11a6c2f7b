import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceError } from '../../../src/base/errors.js';
import { add, foreach, less, mul, sum, whileLoop } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { isFar } from '../../../src/runtime/memory/far.js';
import { nativeTier } from '../../../src/runtime/native/current.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';
import { canCompile } from './support.js';

/*
 * Devices whose WebAssembly has 4 MiB: state and intermediates beyond that lie where only native code reaches
 * them.
 */

const options = { skip: !canCompile && 'there is no native code here' };
const maximumBytes = 2 ** 22;
/** Arrays of 1 MiB. */
const length = 2 ** 18;
const vector = { dtype: 'float32', shape: [length] } as const;

const deviceWithMore = (bytes: number = maximumBytes): Device =>
  new Device({ maximumBytes: bytes, beyond: () => nativeTier().memory() });

/** Whole numbers, so that sums are exact. */
const ramp = (from: number): number[] => Array.from({ length }, (_, i) => (from + i) % 97);

test('state beyond the memory of WebAssembly is read and updated where it lies', options, () => {
  const device = deviceWithMore();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
  const program = programOf(
    { a: vector, b: vector, c: vector, d: vector, e: vector, f: vector },
    ({ a, b, c, d, e, f }) => ({ a: add(a, mul(b, 2)), e: add(e, f), sum: sum(add(c, d), 0) }),
  );
  const executable = compile(program, { device, replaced: [0, 4, null], tier: 'auto' });
  const inputs = names.map((_, k) => floats([length], ramp(k)));
  for (const { storage } of inputs) storage.pin(device);
  const far = inputs.filter(({ storage }) => isFar(storage.addressOn(device)));
  assert.ok(far.length >= 3, `${far.length} of ${inputs.length} are beyond`);
  assert.ok(far.every(({ storage }) => storage.addressOn(device, false) === -1));
  const expected = names.map((_, k) => ramp(k));
  for (let step = 0; step < 3; step++) {
    const total = executable.run(inputs, [inputs[0].storage, inputs[4].storage, null])[2];
    for (let i = 0; i < length; i++) {
      expected[0][i] += 2 * expected[1][i];
      expected[4][i] += expected[5][i];
    }
    const wanted = expected[2].reduce((all, x, i) => all + x + expected[3][i], 0);
    assert.ok(Math.abs(Number(elementsOf(total)[0]) - wanted) <= 1e-5 * wanted);
    names.forEach((_, k) => assert.deepEqual(elementsOf(inputs[k]), expected[k]));
  }
  assert.deepEqual(
    executable.tiers().map(({ tier }) => tier),
    ['native'],
  );
  inputs[5].storage.unpin();
  assert.deepEqual(elementsOf(inputs[5]), expected[5]);
});

test('what does not fit is refused before anything is computed', options, () => {
  const device = deviceWithMore(1.5 * maximumBytes);
  const program = programOf({ x: vector }, ({ x }) => ({ x: add(x, 1) }));
  const inputs = Array.from({ length: 6 }, (_, k) => floats([length], ramp(k)));
  for (const { storage } of inputs) storage.pin(device);
  const x = inputs[5];
  assert.ok(isFar(x.storage.addressOn(device)));
  const large = programOf({ x: { ...vector, shape: [8 * length] } }, ({ x }) => ({ y: add(x, 1) }));
  const executable = compile(large, { device, tier: 'wasm' });
  assert.throws(
    () => executable.run([floats([8 * length], Array<number>(8 * length).fill(0))]),
    (error) =>
      error instanceof DeviceError &&
      /^at most \d+ bytes: the device has 6291456 in all$/.test(error.expected ?? '') &&
      /^\d+ more bytes$/.test(error.actual ?? '') &&
      /native code/.test(error.advice ?? ''),
  );
  // Programs on WebAssembly get copies of what lies beyond.
  const small = compile(program, { device, tier: 'wasm' });
  const [next] = small.run([x], [x.storage]);
  assert.equal(next.storage, x.storage);
  assert.deepEqual(
    elementsOf(x),
    ramp(5).map((value) => value + 1),
  );
});

test('loops and conditions work in an arena beyond the memory of WebAssembly', options, () => {
  const device = deviceWithMore();
  const [rows, columns] = [6, length];
  const row = { dtype: 'float32', shape: [columns] } as const;
  const body = programOf({ x: row, state: row }, ({ x, state }) => {
    const next = add(mul(state, 0.5), x);
    return { row: next, state: next };
  });
  const most = 400 * columns;
  const condition = programOf({ x: row }, ({ x }) => ({ goesOn: less(sum(x), most) }));
  const doubling = programOf({ x: row }, ({ x }) => ({ x: mul(x, 2) }));
  const program = programOf(
    { x: { dtype: 'float32', shape: [rows, columns] }, state: row },
    ({ x, state }) => {
      const [all, last] = foreach(body, { data: [x], states: [state], captures: [] });
      const [grown, count] = whileLoop(condition, doubling, { states: [last], captures: [] });
      return { sums: sum(all, 1), grown, count };
    },
  );
  const xs = Array.from({ length: rows }, (_, r) => ramp(r));
  const inputs = [floats([rows, columns], xs.flat()), floats([columns], ramp(50))];
  const executable = compile(program, { device, tier: 'auto' });
  let state = ramp(50);
  const sums = xs.map((x) => {
    state = state.map((value, i) => Math.fround(Math.fround(value * 0.5) + x[i]));
    return state.reduce((all, value) => all + value, 0);
  });
  const total = state.reduce((all, value) => all + value, 0);
  const doublings = Math.ceil(Math.log2(most / total));
  assert.ok(doublings >= 1);
  for (let run = 0; run < 2; run++) {
    const [all, grown, count] = executable.run(inputs);
    elementsOf(all).forEach((value, r) =>
      assert.ok(Math.abs(Number(value) - sums[r]) <= 1e-5 * sums[r], `row ${r}`),
    );
    assert.deepEqual(
      elementsOf(grown),
      state.map((value) => 2 ** doublings * value),
    );
    assert.deepEqual(elementsOf(count).map(Number), [doublings]);
  }
  assert.equal(executable.tiers()[0].tier, 'native');
});
