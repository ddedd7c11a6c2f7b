import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompiledModules } from '../../../src/codegen/wasm/compiled.js';
import { compileModule, encodeModule } from '../../../src/codegen/wasm/index.js';
import * as e from '../../../src/loop/build.js';
import type { Module } from '../../../src/loop/nodes.js';

/** Stores a number, or so many times the same, so that modules can be of any size. */
function storing(value: number, times = 1): Module {
  const out = e.buffer('out', 'i32');
  const stores = Array.from({ length: times }, () => e.store(out, e.i32(0), e.i32(value)));
  return e.moduleOf([e.kernel('main', [out], e.block(...stores))]);
}

test('equal programs share one compiled module, others do not', () => {
  const first = compileModule(storing(1));
  assert.equal(compileModule(storing(1)), first);
  const second = compileModule(storing(2));
  assert.notEqual(second, first);
  const memory = new WebAssembly.Memory({ initial: 1 });
  for (const [module, value] of [
    [first, 1],
    [second, 2],
  ] as const) {
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    (exports['main'] as (out: number) => void)(1024);
    assert.equal(new Int32Array(memory.buffer)[256], value);
  }
});

test('what was not asked for longest goes first', () => {
  const [a, b, c] = [1, 2, 3].map((value) => encodeModule(storing(value)));
  const kept = new CompiledModules(a.length + b.length);
  const [first, second] = [kept.compile(a), kept.compile(b)];
  assert.equal(kept.compile(a), first);
  kept.compile(c);
  assert.equal(kept.compile(a), first);
  assert.notEqual(kept.compile(b), second);
});

test('a module that is larger than all that may be kept is kept as long as it is the last', () => {
  const large = encodeModule(storing(4, 5000));
  const kept = new CompiledModules(1000);
  const compiled = kept.compile(large);
  assert.equal(kept.compile(large), compiled);
  kept.compile(encodeModule(storing(5)));
  assert.notEqual(kept.compile(large), compiled);
});
