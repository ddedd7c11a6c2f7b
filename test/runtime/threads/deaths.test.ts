import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeviceError } from '../../../src/base/errors.js';
import { meeting } from '../../../src/loop/language/team.js';
import type { Value } from '../../../src/ir/program.js';
import { add, matmul, mul } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Executable, Operand } from '../../../src/runtime/execution/executable.js';
import type { Storage } from '../../../src/runtime/memory/storage.js';
import { type Spawn, spawn } from '../../../src/runtime/threads/spawn.js';
import { canCompile, withTier } from '../native/support.js';
import { corpus, given, program } from './corpus.js';

/*
 * Workers that die while they are in a job. What they are made of is text, so these put something before it:
 * what they take for the code of a program ends the thread at a place of its choice.
 */

/** What a worker does instead of running `main`: the code of a function of `main` and its arguments. */
const places = {
  'before it has begun': '() => process.exit(7)',
  'after its last share': '(main, args) => { main(...args); process.exit(7); }',
  // Others have met it, and have gone on without its shares.
  'behind the first barrier': '(main, args) => { meet(args[3], args[5]); process.exit(7); }',
} as const;

/** How threads meet, as the code of programs has it. */
const meet = `(base, threads) => {
  const words = new Int32Array(memory.buffer, base);
  const passed = Atomics.load(words, ${meeting.passed});
  if (Atomics.add(words, ${meeting.arrived}, 1) + 1 === threads) {
    Atomics.store(words, ${meeting.arrived}, 0);
    Atomics.add(words, ${meeting.passed}, 1);
    Atomics.notify(words, ${meeting.passed});
  } else while (Atomics.load(words, ${meeting.passed}) === passed) {
    Atomics.wait(words, ${meeting.passed}, passed, 10);
  }
}`;

/** Goes before the text of a worker: its code of programs is `act`. */
function sabotage(act: string): string {
  return `
    let memory;
    const meet = ${meet};
    const act = ${act};
    const { Instance } = WebAssembly;
    WebAssembly.Instance = function (module, imports) {
      ({ memory } = imports.env);
      const { main } = new Instance(module, imports).exports;
      return { exports: { main: (...args) => act(main, args) } };
    };
    const modules = process.getBuiltinModule('node:module');
    const { createRequire } = modules;
    modules.createRequire = (from) => (name) => {
      const loader = createRequire(from)(name);
      const func = (file, names) => {
        const main = loader.load(file).func(...names);
        return (...args) => act(main, args);
      };
      return { load: (file) => ({ func: (...names) => func(file, names) }) };
    };\n`;
}

/** The first threads that are started: the guard, then a worker that is not what it should be. */
function sabotaging(act: string): Spawn {
  let started = 0;
  return (text, died) => spawn(++started === 2 ? sabotage(act) + text : text, died);
}

/** Runs wait for their workers, and whatever can be divided is. */
const certainly = { grain: 1, patience: 60_000 } as const;

const bytesOf = (outputs: readonly Operand[]): Buffer[] =>
  outputs.map(({ storage: { host } }) => {
    const { buffer, byteOffset, byteLength } = host.slice();
    return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  });

/** Runs a program on two threads, of which one dies; the run after that has another. */
async function survives(
  act: string,
  make: (device: Device) => Executable,
  inputs: readonly Operand[],
): Promise<void> {
  const expected = bytesOf(make(new Device()).run(inputs));
  const device = new Device({ threads: 2, ...certainly, spawn: sabotaging(act) });
  try {
    const executable = make(device);
    assert.deepEqual(bytesOf(executable.run(inputs)), expected);
    const { note } = executable.tiers()[0];
    assert.match(note!, /a worker died during a run/);
    const { joins } = device.pool;
    assert.ok(joins > 0, 'it was in the job');
    assert.deepEqual(bytesOf(executable.run(inputs)), expected);
    assert.ok(device.pool.joins > joins, 'another one has joined');
    assert.equal(device.pool.notes.filter((one) => /during a run/.test(one)).length, 1);
    while (device.pool.notes.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(device.pool.notes[1], /^a worker ended with code 7; another takes its place$/);
  } finally {
    await device.pool.close();
  }
}

describe('a worker that dies in the middle of a job', () => {
  // What is cut at data has parts, some of which are not divided.
  const whole = corpus.filter(({ name }) => name !== 'sizes that the program finds');
  for (const [k, { name, program: of, operands }] of whole.entries()) {
    const make = (device: Device): Executable => compile(of, { device, tier: 'wasm' });
    const hasBarrier = /\bbarrier\(/.test(String(make(new Device({ threads: 2, grain: 1 }))));
    const place = hasBarrier
      ? 'behind the first barrier'
      : (['before it has begun', 'after its last share'] as const)[k % 2];
    it(`costs time only: ${name}, ${place}`, () => survives(places[place], make, operands.at(-1)!));
  }

  for (const place of ['before it has begun', 'after its last share'] as const) {
    it(`costs time only in native code, ${place}`, { skip: !canCompile && 'no compiler' }, () => {
      const { program: of, operands } = corpus.find(({ name }) => name === 'products')!;
      return withTier({}, () =>
        survives(places[place], (device) => compile(of, { device, tier: 'native' }), operands[0]),
      );
    });
  }

  const update = program([[[300]], [[300]]], ([state, by]) => [
    add<Value>(mul<Value>(state, state), by),
    mul<Value>(by, by),
  ]);
  const by = given([300], 2);
  const pinned = (device: Device): Storage => {
    const { storage } = given([300], 1);
    storage.pin(device);
    return storage;
  };

  it('is an error where arrays were being updated in place, and names them', async () => {
    for (const place of ['before it has begun', 'after its last share'] as const) {
      const act = places[place];
      const device = new Device({ threads: 2, ...certainly, spawn: sabotaging(act) });
      try {
        const executable = compile(update, { device, tier: 'wasm', replaced: [0, null] });
        const state = pinned(device);
        assert.throws(
          () => executable.run([{ storage: state, shape: [300] }, by], [state, null]),
          (error: Error) =>
            error instanceof DeviceError &&
            /a worker has died while arrays were updated in place/.test(error.message) &&
            /x0 may be partly old and partly new/.test(error.message),
        );
        // The memory is good for the next run.
        state.write(given([300], 1).storage.host);
        executable.run([{ storage: state, shape: [300] }, by], [state, null]);
        const expected = [...(given([300], 1).storage.host as Float32Array)].map((x, i) =>
          Math.fround(Math.fround(x * x) + Number(by.storage.host[i])),
        );
        assert.deepEqual([...(state.host as Float32Array)], expected);
      } finally {
        await device.pool.close();
      }
    }
  });

  it('costs time only where arrays are replaced outside of the memory that threads share', async () => {
    const act = places['after its last share'];
    const device = new Device({ threads: 2, ...certainly, spawn: sabotaging(act) });
    try {
      const executable = compile(update, { device, tier: 'wasm', replaced: [0, null] });
      const { storage: state } = given([300], 1);
      const before = [...(state.host as Float32Array)];
      executable.run([{ storage: state, shape: [300] }, by], [state, null]);
      assert.match(device.threadNote!, /a worker died during a run/);
      const expected = before.map((x, i) =>
        Math.fround(Math.fround(x * x) + Number(by.storage.host[i])),
      );
      assert.deepEqual([...(state.host as Float32Array)], expected, 'updated once');
    } finally {
      await device.pool.close();
    }
  });

  it('is not replaced for ever', async () => {
    const spawnDying: Spawn = (text, died) =>
      spawn(sabotage(places['before it has begun']) + text, died);
    const device = new Device({ threads: 2, ...certainly, spawn: spawnDying });
    try {
      const of = program([[[30, 40]], [[40, 50]]], ([x, y]) => [matmul<Value>(x, y)]);
      const inputs = [given([30, 40], 1), given([40, 50], 2)];
      const expected = bytesOf(compile(of, { device: new Device() }).run(inputs));
      const executable = compile(of, { device, tier: 'wasm' });
      const isOver = (): boolean => /keep crashing; programs run on one thread/.test(device.threadNote ?? ''); // prettier-ignore
      for (let run = 0; !isOver(); run++) {
        assert.ok(run < 100);
        assert.deepEqual(bytesOf(executable.run(inputs)), expected);
      }
      assert.deepEqual(bytesOf(executable.run(inputs)), expected);
    } finally {
      await device.pool.close();
    }
  });
});
