import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { DeviceError } from '../../../src/base/errors.js';
import { supportsMemory64, supportsRelaxed } from '../../../src/codegen/wasm/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Executable, Operand } from '../../../src/runtime/execution/executable.js';
import type { EntryRecipe } from '../../../src/runtime/threads/recipe.js';
import { corpus, given } from './corpus.js';

/** Small enough that everything is divided. */
const grain = 1;

/** A turn of the event loop, which workers need to start and to be seen to end. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** Runs until all workers of a device wait for work. */
async function warm(
  device: Device,
  executable: Executable,
  inputs: readonly Operand[],
): Promise<void> {
  while (device.pool.ready < device.threads - 1) {
    executable.run(inputs);
    await turn();
  }
}

/** Runs until a worker has taken part. */
async function join(
  device: Device,
  executable: Executable,
  inputs: readonly Operand[],
): Promise<void> {
  const before = device.pool.joins;
  while (device.pool.joins === before) {
    executable.run(inputs);
    await turn();
  }
}

const bytesOf = (outputs: readonly Operand[]): Buffer[] =>
  outputs.map(({ storage: { host } }) => {
    const { buffer, byteOffset, byteLength } = host.slice();
    return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  });

const [{ program: chain }] = corpus;
const inputs = [given([1013], 1), given([1013], 2)];

describe('programs on several threads', () => {
  const single = new Device();
  for (const threads of [2, 3]) {
    const device = new Device({ threads, grain });
    after(() => device.pool.close());
    for (const { name, program: of, operands } of corpus) {
      it(`give the same bits on ${threads}: ${name}`, async () => {
        // Sums that round once must do so for the same elements, whoever computes them.
        for (const relaxed of supportsRelaxed() ? [false, true] : [false]) {
          const options = { tier: 'wasm', relaxed } as const;
          const alone = compile(of, { device: single, ...options });
          const together = compile(of, { device, ...options });
          const expected = operands.map((list) => bytesOf(alone.run(list)));
          if (!relaxed && threads === 2) {
            const interpreted = compile(of, { device: single, target: 'interpreter' });
            assert.deepEqual(bytesOf(interpreted.run(operands[0])), expected[0]);
          }
          await warm(device, together, operands.at(-1)!);
          for (let round = 0; round < 3; round++) {
            const found = operands.map((list) => bytesOf(together.run(list)));
            assert.deepEqual(found, expected);
            await turn();
          }
        }
      });
    }
  }
});

describe('threads in memory of 64-bit addresses', () => {
  const skip = !supportsMemory64({ shared: true }) && 'this engine shares no memory64';

  it('give the same bits, with everything beyond the first 4 GiB', { skip }, async () => {
    const single = new Device();
    const device = new Device({ threads: 3, grain, addressing: 'i64' });
    // Pages that nobody writes cost nothing.
    device.take(2 ** 32);
    try {
      for (const { name, program: of, operands } of corpus) {
        const alone = compile(of, { device: single, tier: 'wasm' });
        const together = compile(of, { device, tier: 'wasm' });
        await warm(device, together, operands.at(-1)!);
        for (const list of operands)
          assert.deepEqual(bytesOf(together.run(list)), bytesOf(alone.run(list)), name);
      }
      assert.equal(device.addresses, 'i64');
      assert.ok(device.pool.joins > 0);
      assert.ok(device.pool.meetingAddress >= 2 ** 32);
      assert.deepEqual(device.pool.notes, []);
    } finally {
      await device.pool.close();
    }
  });

  it('go on in a memory that takes the place of theirs', { skip }, async () => {
    const device = new Device({
      threads: 2,
      grain,
      addressing: 'i32, then i64',
      narrowBytes: 2 ** 22,
      maximumBytes: 2 ** 26,
    });
    const executable = compile(chain, { device, tier: 'wasm' });
    const expected = bytesOf(executable.run(inputs));
    const { pool } = device;
    await join(device, executable, inputs);
    const held = device.take(2 ** 20);
    const elements = (): Float32Array => device.view('float32', held, 2) as Float32Array;
    elements().set([1.5, -2]);
    device.take(2 ** 23);
    assert.equal(device.addresses, 'i64');
    assert.ok(device.isShared);
    assert.deepEqual([...elements()], [1.5, -2]);
    assert.notEqual(device.pool, pool);
    assert.equal(pool.ready, 0, 'the workers of the old memory have ended');
    try {
      assert.deepEqual(bytesOf(executable.run(inputs)), expected);
      await join(device, executable, inputs);
      assert.deepEqual(bytesOf(executable.run(inputs)), expected);
      assert.deepEqual(device.pool.notes, []);
    } finally {
      await device.pool.close();
    }
  });
});

describe('a pool', () => {
  it('runs ten thousand jobs in a row', async () => {
    const device = new Device({ threads: 2, grain });
    try {
      const executable = compile(chain, { device, tier: 'wasm' });
      const expected = bytesOf(compile(chain, { device: new Device(), tier: 'wasm' }).run(inputs));
      await join(device, executable, inputs);
      for (let run = 0; run < 10_000; run++) {
        const outputs = executable.run(inputs);
        if (run % 100 === 0) assert.deepEqual(bytesOf(outputs), expected);
      }
      assert.deepEqual(device.pool.notes, []);
    } finally {
      await device.pool.close();
    }
  });

  it('does without a worker that has died, and replaces it', async () => {
    const device = new Device({ threads: 2, grain });
    try {
      const executable = compile(chain, { device, tier: 'wasm' });
      const expected = bytesOf(executable.run(inputs));
      await join(device, executable, inputs);
      await device.pool.kill(0);
      while (device.pool.notes.length === 0) await turn();
      assert.deepEqual(bytesOf(executable.run(inputs)), expected);
      assert.match(device.pool.notes[0], /a worker ended with code 1; another takes its place/);
      await join(device, executable, inputs);
      assert.deepEqual(bytesOf(executable.run(inputs)), expected);
    } finally {
      await device.pool.close();
    }
  });

  it('lets a failure of any thread be the failure of the run', async () => {
    const device = new Device({ threads: 2, grain });
    try {
      const { pool } = device;
      // A module whose main traps in every thread but the first, and one that does nothing.
      const [trap, nothing] = [ifNotFirst([0]), []].map(
        (code) => new WebAssembly.Module(Uint8Array.from(mainOf(code))),
      );
      const call = (module: WebAssembly.Module): ((table: number) => void) => {
        const recipe: EntryRecipe = { kind: 'wasm', module, addresses: 'i32' };
        const run = pool.entry(recipe, () => {}, 2);
        return (table) => run(table, 1000);
      };
      const [fails, works] = [call(trap), call(nothing)];
      let error: unknown = null;
      while (error === null) {
        await turn();
        try {
          fails(0);
        } catch (thrown) {
          error = thrown;
        }
      }
      assert.ok(error instanceof DeviceError);
      assert.match(error.message, /a thread has failed in the middle of a program/);
      assert.match(error.message, /unreachable/);
      const before = pool.joins;
      while (pool.joins === before) {
        works(0);
        await turn();
      }
      assert.deepEqual(pool.notes, [], 'the worker lives');
    } finally {
      await device.pool.close();
    }
  });

  it('runs on alone after its end', async () => {
    const device = new Device({ threads: 3, grain });
    const executable = compile(chain, { device, tier: 'wasm' });
    const expected = bytesOf(executable.run(inputs));
    await device.pool.close();
    assert.deepEqual(bytesOf(executable.run(inputs)), expected);
    assert.equal(device.pool.ready, 0);
  });

  it('wakes nobody for a program without much to do', () => {
    const device = new Device({ threads: 2 });
    const executable = compile(chain, { device, tier: 'wasm' });
    executable.run(inputs);
    assert.doesNotMatch(executable.toString(), /threads/);
    assert.equal(device.pool.ready, 0);
    assert.equal(device.pool.joins, 0);
  });

  it('keeps no process alive', () => {
    const url = (path: string): string => new URL(`../../../${path}`, import.meta.url).href;
    const script = `
      const { compile } = await import('${url('src/runtime/compile/compile.js')}');
      const { Device } = await import('${url('src/runtime/memory/device.js')}');
      const { corpus } = await import('${url('test/runtime/threads/corpus.js')}');
      const device = new Device({ threads: 3, grain: 1 });
      const executable = compile(corpus[0].program, { device, tier: 'wasm' });
      while (device.pool.joins < 2) {
        executable.run(corpus[0].operands[0]);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      console.log('done');`;
    const args = ['--input-type=module', '--eval', script];
    const text = execFileSync(process.execPath, args, { timeout: 120_000, encoding: 'utf8' });
    assert.equal(text, 'done\n');
  });
});

/** Code for all threads but the first: the number of the thread is the fifth parameter. */
const ifNotFirst = (code: readonly number[]): readonly number[] => [
  0x20, 4, 0x04, 0x40, ...code, 0x0b,
]; // prettier-ignore

/** A module with a shared memory and a `main` of six numbers, whose body is given. */
function mainOf(body: readonly number[]): readonly number[] {
  const name = (text: string): number[] => [text.length, ...Buffer.from(text)];
  const section = (id: number, bytes: readonly number[]): number[] => [id, bytes.length, ...bytes];
  const code = [0, ...body, 0x0b];
  return [
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 6, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0]),
    ...section(2, [1, ...name('env'), ...name('memory'), 2, 3, 0, 0x80, 0x80, 4]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name('main'), 0, 0]),
    ...section(10, [1, code.length, ...code]),
  ]; // prettier-ignore
}
