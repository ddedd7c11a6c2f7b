import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { encodeModule, instantiateModule } from '../../../../src/codegen/wasm/index.js';
import { meeting } from '../../../../src/loop/language/team.js';
import { cells, meetings, rounds } from '../../../loop/meetings.js';

const base = 1024;
const addresses = [cells.meeting, cells.written, cells.wrong].map((word) => base + 4 * word);

/** Runs the kernel as the thread that it is told to be, and says whether it came back. */
const program = `
const { parentPort, workerData: { module, memory, args } } = require('node:worker_threads');
new WebAssembly.Instance(module, { env: { memory } }).exports.meet(...args);
parentPort.postMessage('done');`;

describe('barriers in WebAssembly', () => {
  const workers: Worker[] = [];
  after(() => Promise.all(workers.map((worker) => worker.terminate())));

  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
  const words = new Int32Array(memory.buffer, base);
  const bytes = encodeModule(meetings(), { shared: true });
  const run = (thread: number, threads: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const args = [...addresses, thread, threads];
      const module = new WebAssembly.Module(bytes);
      const made = new Worker(program, { eval: true, workerData: { module, memory, args } });
      workers.push(made);
      made.once('message', resolve);
      made.once('error', reject);
    });

  for (const threads of [2, 3]) {
    it(`holds ${threads} threads together`, async () => {
      words.fill(0);
      words[meeting.maySleep] = 1;
      await Promise.all(Array.from({ length: threads }, (_, thread) => run(thread, threads)));
      assert.equal(words[meeting.passed], 2 * rounds);
      assert.equal(words[meeting.arrived], 0);
      assert.equal(words[meeting.sleeping], 0);
      for (let thread = 0; thread < threads; thread++) {
        assert.equal(words[cells.written + thread], rounds);
        assert.equal(words[cells.wrong + thread], 0, 'each saw what the others had written');
      }
    });
  }

  it('keeps nobody who is alone', () => {
    words.fill(0);
    instantiateModule(meetings(), memory, { shared: true }).meet(...addresses, 0, 1);
    assert.equal(words[cells.written], rounds);
    assert.equal(words[meeting.passed], 0);
  });

  it('lets go those who sleep when a thread fails, and those who come later', async () => {
    words.fill(0);
    const waiting = run(1, 3);
    while (Atomics.load(words, meeting.sleeping) === 0)
      await new Promise((resolve) => setTimeout(resolve, 1));
    Atomics.store(words, meeting.failed, 1);
    Atomics.add(words, meeting.passed, 1);
    Atomics.notify(words, meeting.passed);
    assert.equal(await waiting, 'done');
    assert.equal(await run(2, 3), 'done');
    assert.equal(words[cells.written + 1], 1, 'it ended at its first barrier');
    assert.equal(words[cells.written + 2], 1);
  });
});
