import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KernelCache } from '../../../src/loop/optimize/cache.js';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type { Module } from '../../../src/loop/language/nodes.js';
import { optimizeModule } from '../../../src/loop/optimize/module.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { moduleText } from '../../../src/loop/language/text.js';
import { verifyModule } from '../../../src/loop/language/verify.js';
import { dedent } from '../before-after.js';

const options = { vectorBytes: 16 };

function optimized(text: string, cache?: KernelCache): Module {
  const module = optimizeModule(parseModule(dedent(text)), options, cache);
  verifyModule(module);
  return module;
}

const twice = `
  kernel first(o: i32[], at: i32) {
    o[at * 1] = at
  }

  kernel second(p: i32[], n: i32) {
    p[n * 1] = n
  }

  kernel main(table: i32[]) {
    call first(table[0], 3)
    call second(table[1], 4)
  }`;

describe('optimizeModule', () => {
  it('optimizes every kernel of a module, and its calls', () => {
    const module = optimized(`
      kernel one(o: f32[], n: i32) {
        o[n * 2 - n] = 1.0
      }

      kernel main(n: i32) {
        call one(0, n + n)
      }`);
    assert.equal(
      moduleText(module),
      dedent(`
      kernel one(o: f32[], n: i32) {
        o[n] = 1.0
      }

      kernel main(n: i32) {
        call one(0, n * 2)
      }`),
    );
  });

  it('makes callees that differ in names only one', () => {
    const module = optimized(twice);
    assert.equal(
      moduleText(module),
      dedent(`
      kernel first(o: i32[], at: i32) {
        o[at] = at
      }

      kernel main(table: i32[]) {
        call first(table[0], 3)
        call first(table[1], 4)
      }`),
    );
    const memory = new ArrayBuffer(256);
    const words = new Int32Array(memory);
    words.set([64, 128]);
    interpret(module, memory, 'main', [0]);
    assert.deepEqual([words[16 + 3], words[32 + 4]], [3, 4]);
  });

  it('leaves alone what only calls, but for the kernels that it calls', () => {
    const module = parseModule(dedent(twice));
    const before = module.kernels[2].body;
    const after = optimizeModule(module, options).kernels.at(-1)!.body;
    assert.ok(before.kind === 'block' && after.kind === 'block');
    const args = [before, after].map(({ body }) =>
      body.map((stmt) => (stmt.kind === 'call' ? stmt.args : [])),
    );
    for (const call of [0, 1]) assert.equal(args[1][call], args[0][call]);
  });

  it('takes kernels of earlier modules from the cache', () => {
    const cache = new KernelCache();
    const before = optimized(twice, cache);
    const after = optimized(twice.replaceAll('first', 'late').replaceAll('table', 't'), cache);
    assert.equal(after.kernels[0], before.kernels[0]);
    assert.match(moduleText(after), /kernel main\(t: i32\[\]\) \{\n {2}call first\(t\[0\], 3\)/);
  });

  it('keeps kernels that nothing calls, under their names', () => {
    const cache = new KernelCache();
    const alike = `
      kernel a(o: i32[]) {
        o[0] = 1
      }

      kernel b(o: i32[]) {
        o[0] = 1
      }`;
    const names = ['a', 'b'];
    assert.deepEqual(optimized(alike, cache).kernels.map(({ name }) => name), names); // prettier-ignore
    const swapped = optimized(alike.replace('kernel a', 'kernel c'), cache);
    assert.deepEqual(swapped.kernels.map(({ name }) => name), ['c', 'b']); // prettier-ignore
  });

  it('renames a kernel from the cache whose name is taken', () => {
    const cache = new KernelCache();
    const module = (value: string, more = ''): string => `
      kernel k(o: i32[]) {
        o[0] = ${value}
      }
      ${more}
      kernel main(table: i32[]) {
        call k(table[0])${more === '' ? '' : '\n        call j(table[1])'}
      }`;
    optimized(module('1'), cache);
    const both = optimized(module('2', '\n      kernel j(o: i32[]) {\n        o[0] = 1\n      }\n'), cache); // prettier-ignore
    assert.deepEqual(both.kernels.map(({ name }) => name), ['k', 'k_1', 'main']); // prettier-ignore
    const memory = new ArrayBuffer(64);
    const words = new Int32Array(memory);
    words.set([32, 36]);
    interpret(both, memory, 'main', [0]);
    assert.deepEqual(words.slice(8, 10), Int32Array.of(2, 1));
  });
});
