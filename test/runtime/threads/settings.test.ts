import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ArgumentError } from '../../../src/base/errors.js';
import type { Value } from '../../../src/ir/program.js';
import { mul, tanh } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import {
  isThreadCount,
  mostThreads,
  threadCount,
  threadsOfEnvironment,
} from '../../../src/runtime/threads/settings.js';
import { elementsOf, floats } from '../../support/programs.js';
import { program } from './corpus.js';

const chain = program([[[4]]], ([x]) => [tanh<Value>(mul<Value>(x, x))]);
const input = floats([4], [0.5, -1, 2, 0]);
const expected = [0.25, 1, 4, 0].map(Math.tanh);

function close(found: readonly unknown[]): void {
  found.forEach((value, i) => assert.ok(Math.abs((value as number) - expected[i]) < 1e-6));
}

describe('the number of threads', () => {
  it('is a number from 1, or one for each core', () => {
    assert.equal(threadCount(3, 'here'), 3);
    assert.ok(threadCount('auto', 'here') >= 1);
    for (const wrong of [0, -1, 1.5, mostThreads + 1, '2', 'many', null, NaN]) {
      assert.equal(isThreadCount(wrong), false);
      assert.throws(() => threadCount(wrong, 'here'), ArgumentError);
    }
  });

  it('comes from the environment', () => {
    const before = process.env.KAON_THREADS;
    try {
      delete process.env.KAON_THREADS;
      assert.equal(threadsOfEnvironment(), 1);
      process.env.KAON_THREADS = ' 4 ';
      assert.equal(threadsOfEnvironment(), 4);
      process.env.KAON_THREADS = 'auto';
      assert.ok(threadsOfEnvironment() >= 1);
      process.env.KAON_THREADS = 'two';
      assert.throws(threadsOfEnvironment, /KAON_THREADS.*not a number of threads/s);
    } finally {
      if (before === undefined) delete process.env.KAON_THREADS;
      else process.env.KAON_THREADS = before;
    }
  });

  it('can be raised until there is memory, and later where that is shared', () => {
    const device = new Device();
    device.wantedThreads = 2;
    assert.equal(device.threads, 2);
    assert.equal(device.isShared, true);
    device.wantedThreads = 3;
    assert.equal(device.threads, 3);
    device.wantedThreads = 1;
    assert.equal(device.threads, 1);
  });

  it('cannot be raised when there is memory that threads cannot share', () => {
    const device = new Device();
    close(elementsOf(compile(chain, { device }).run([input])[0]));
    assert.throws(
      () => (device.wantedThreads = 2),
      (error: Error) => error instanceof ArgumentError && /KAON_THREADS/.test(error.message),
    );
    assert.equal(device.threads, 1);
    assert.equal(device.threadNote, null);
  });

  it('is one where memory cannot be shared, and says why', () => {
    const { SharedArrayBuffer } = globalThis;
    const device = new Device({ threads: 2, grain: 1 });
    try {
      Object.defineProperty(globalThis, 'SharedArrayBuffer', { value: undefined, configurable: true, writable: true }); // prettier-ignore
      assert.equal(device.threads, 1);
      const executable = compile(chain, { device, tier: 'wasm' });
      close(elementsOf(executable.run([input])[0]));
      assert.doesNotMatch(executable.toString(), /threads/);
      assert.match(executable.tiers()[0].note ?? '', /one thread: there is no SharedArrayBuffer/);
    } finally {
      globalThis.SharedArrayBuffer = SharedArrayBuffer;
    }
    assert.equal(device.isShared, false);
  });
});
