import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeModule, instantiateModule, reservedBytes } from '../../../src/codegen/wasm/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Kernel } from '../../../src/loop/language/nodes.js';

/** A kernel that stores a number at the address it is given. */
function storing(value: number): Kernel {
  const o = e.buffer('o', 'i32');
  return e.kernel(`store${value}`, [o], e.store(o, 0, e.i32(value)));
}

test('one kernel is part of several modules, at other places in each', () => {
  const kernels = [1, 2, 3].map(storing);
  const caller = e.kernel('main', [], e.call(kernels[1], [e.i32(reservedBytes)]));
  for (const order of [[0, 1, 2], [2, 1, 0], [1], [1, 0], [0, 2, 1]]) {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const module = e.moduleOf([...order.map((i) => kernels[i]), caller]);
    instantiateModule(module, memory).main();
    assert.equal(new Int32Array(memory.buffer)[reservedBytes / 4], 2);
  } // prettier-ignore
});

test('an external kernel is a function that whoever runs the module provides', () => {
  const [o, value] = [e.buffer('o', 'i32'), e.variable('value', 'i32')];
  const told = { ...e.kernel('tell', [value], e.block()), isExternal: true } as const;
  const store = e.kernel('store', [o, value], e.store(o, 0, value));
  const stored = e.call(store, [e.i32(reservedBytes), value]);
  const steps = [e.call(told, [e.i32(7)]), stored, e.call(told, [value])];
  const main = e.kernel('main', [value], e.block(...steps));
  const memory = new WebAssembly.Memory({ initial: 1 });
  const heard: (readonly [number, number])[] = [];
  const at = reservedBytes / 4;
  const tell = (given: number): void => void heard.push([given, new Int32Array(memory.buffer)[at]]);
  const compiled = new WebAssembly.Module(encodeModule(e.moduleOf([told, store, main])));
  assert.deepEqual(
    WebAssembly.Module.exports(compiled).map(({ name }) => name),
    ['store', 'main'],
  );
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory, tell } });
  (exports['main'] as (...args: number[]) => void)(5);
  assert.deepEqual(heard, [[7, 0], [5, 5]]); // prettier-ignore
});

test('a module is encoded to the same bytes each time, with and without relaxed instructions', () => {
  const [x, y] = [e.buffer('x', 'f32'), e.buffer('y', 'f32')];
  const at = e.ramp(0, 1, 4);
  const sum = e.variable('sum', 'f32', 4);
  const body = e.block(
    e.declare(sum, e.load(y, at)),
    e.assign(sum, e.add(sum, e.mul(e.load(x, at), e.load(y, at)))),
    e.store(y, at, sum),
  );
  const module = e.moduleOf([e.kernel('main', [x, y], body)]);
  const [strict, relaxed] = [false, true].map((isRelaxed) =>
    encodeModule(module, { relaxed: isRelaxed }),
  );
  assert.notDeepEqual(strict, relaxed);
  assert.deepEqual(encodeModule(module), strict);
  assert.deepEqual(encodeModule(module, { relaxed: true }), relaxed);
});

test('kernels are called with elements of a table, at small and large indices, and with anything else', () => {
  const table = e.buffer('table', 'i32');
  const [o, value] = [e.buffer('o', 'i32'), e.variable('value', 'i32')];
  const store = e.kernel('store', [o, value], e.store(o, 0, value));
  const entry = (index: number): Expr => e.load(table, index);
  const calls = [
    e.call(store, [entry(0), entry(1)]),
    e.call(store, [entry(1), entry(1)]), // the argument twice
    e.call(store, [entry(20000), entry(2)]),
    e.call(store, [e.add(entry(0), 12), e.add(entry(20000), entry(2))]),
    e.call(store, [entry(3), e.load(table, entry(2))]),
  ];
  const memory = new WebAssembly.Memory({ initial: 3 });
  const words = new Int32Array(memory.buffer);
  const at = reservedBytes / 4;
  words.set([2 * reservedBytes, 2 * reservedBytes + 4, 3, 2 * reservedBytes + 16], at);
  words[at + 20000] = 2 * reservedBytes + 8;
  const main = e.kernel('main', [table], e.block(...calls));
  instantiateModule(e.moduleOf([store, main]), memory).main(reservedBytes);
  const address = (i: number): number => 2 * reservedBytes + 4 * i;
  assert.deepEqual(
    words.slice(2 * at, 2 * at + 5),
    Int32Array.of(address(1), address(1), 3, address(2) + 3, address(4)),
  );
});
