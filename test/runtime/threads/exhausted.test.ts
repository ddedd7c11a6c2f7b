import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { symbol } from '../../../src/base/dim/index.js';
import { DeviceError } from '../../../src/base/errors.js';
import type { Value } from '../../../src/ir/program.js';
import { add, matmul, mul } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { type Spawn, spawn } from '../../../src/runtime/threads/spawn.js';
import { given, program } from './corpus.js';

/* What happens to programs on several threads when memory runs out: that of the device, and that of a worker. */

/** Runs wait for their workers, and whatever can be divided is. */
const certainly = { threads: 2, grain: 1, patience: 60_000 } as const;

/**
 * Ends a worker as soon as it runs a program: its heap takes no more. Each round calls a function, since
 * Node 24 optimizes a loop that only allocates to one that nothing interrupts, and which goes on beyond
 * every limit.
 */
const greedy = `
  WebAssembly.Instance = function () {
    const main = () => { for (const kept = []; ;) kept.push(JSON.parse('[[1, 2], [3, 4], [5, 6]]')); };
    return { exports: { main } };
  };\n`;

/** Starts threads with small heaps. The second, which is the first worker, is greedy. */
function withSmallHeaps(): Spawn {
  let started = 0;
  return (text, died) => {
    if (++started !== 2) return spawn(text, died);
    const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
    const worker = new Worker(greedy + text, { eval: true, execArgv: [], resourceLimits });
    let reason = '';
    worker.on('error', (error: NodeJS.ErrnoException) => (reason = `: ${error.code}`));
    worker.on('exit', (code) => died(`ended with code ${code}${reason}`));
    worker.unref();
    return {
      post: (message, moved = []) => worker.postMessage(message, moved as never),
      listen() {},
      keepAlive() {},
      end: () => worker.terminate(),
      kill: () => worker.terminate(),
    };
  };
}

const floatsOf = (storage: Storage): number[] => [...(storage.host as Float32Array)];

describe('memory that runs out', () => {
  it('of the device: a typed error before anything is changed, and the next run is as good as ever', async () => {
    const device = new Device({ ...certainly, maximumBytes: 2 ** 22 });
    const n = symbol('n', { max: 2 ** 24 });
    const update = program([[[300]], [[n]]], ([state, by]) => [
      add<Value>(mul<Value>(state, state), 1),
      mul<Value>(add<Value>(by, 1), by),
    ]);
    try {
      const executable = compile(update, { device, tier: 'wasm', replaced: [0, null] });
      const { storage: state } = given([300], 1);
      state.pin(device);
      const run = (length: number): readonly number[] => {
        const by = { storage: new Storage('float32', new Float32Array(length).fill(2)), shape: [length] }; // prettier-ignore
        const [, result] = executable.run([{ storage: state, shape: [300] }, by], [state, null]);
        return floatsOf(result.storage);
      };
      let expected = floatsOf(state);
      const isUpdated = (length: number): void => {
        expected = expected.map((x) => Math.fround(Math.fround(x * x) + 1));
        assert.deepEqual(run(length), Array<number>(length).fill(6));
        assert.deepEqual(floatsOf(state), expected, 'updated once');
      };
      isUpdated(1000);
      const { joins } = device.pool;
      assert.ok(joins > 0, 'a worker took part');
      for (let attempt = 0; attempt < 2; attempt++) {
        assert.throws(
          () => run(2 ** 21),
          (error: Error) =>
            error instanceof DeviceError &&
            /the memory of the device is exhausted/.test(error.message),
        );
        assert.deepEqual(floatsOf(state), expected, 'not updated by what was refused');
      }
      isUpdated(1000);
      isUpdated(3000);
      assert.ok(device.pool.joins > joins, 'a worker took part again');
      assert.deepEqual(device.pool.notes, []);
    } finally {
      await device.pool.close();
    }
  });

  it('of a worker in the middle of a run: the result all the same, once, and a note', async () => {
    const device = new Device({ ...certainly, spawn: withSmallHeaps() });
    try {
      const product = program([[[30, 40]], [[40, 50]]], ([x, y]) => [matmul<Value>(x, y)]);
      const operands = [given([30, 40], 1), given([40, 50], 2)];
      const alone = compile(product, { device: new Device(), tier: 'wasm' });
      const executable = compile(product, { device, tier: 'wasm' });
      const expected = floatsOf(alone.run(operands)[0].storage);
      assert.deepEqual(floatsOf(executable.run(operands)[0].storage), expected);
      assert.match(executable.tiers()[0].note!, /a worker died during a run/);
      assert.deepEqual(floatsOf(executable.run(operands)[0].storage), expected);
      while (device.pool.notes.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.match(device.pool.notes[1], /ERR_WORKER_OUT_OF_MEMORY; another takes its place/);
    } finally {
      await device.pool.close();
    }
  });
});
