import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dtypes } from '../../../../src/base/dtype.js';
import { DeviceError } from '../../../../src/base/errors.js';
import { Program } from '../../../../src/ir/program.js';
import { gpuTarget } from '../../../../src/kernels/gpu/index.js';
import type { Kernel } from '../../../../src/loop/language/nodes.js';
import { matmul } from '../../../../src/ops/index.js';
import type { KernelTuning } from '../../../../src/ops/tuning.js';
import type { Launch } from '../../../../src/runtime/device/backend.js';
import { DeviceExecutable } from '../../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../../src/runtime/device/queue.js';
import type { DeviceTuning } from '../../../../src/runtime/execution/device-tuning.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { profiling, Recorder } from '../../../../src/runtime/profile/recorder.js';
import { TuningStore } from '../../../../src/runtime/webgpu/tuning/store.js';
import { type MeasuredBackend, Tuner, type TunerOptions } from '../../../../src/runtime/webgpu/tuning/tuner.js'; // prettier-ignore
import { FakeBackend } from '../../../support/fake-device.js';
import { gpuKernelsOf } from '../../../support/gpu-programs.js';

/* Kernels are measured on a device whose kernels take as long as a test says, by a clock that the test moves. */

const [m, k, n] = [20, 8, 18];

function productOf(): Program {
  const program = new Program();
  const [x, y] = [[m, k], [k, n]].map((shape, at) => program.variable(`x${at}`, { dtype: 'float32', shape })); // prettier-ignore
  program.setOutputs([{ name: 'z', value: matmul(x, y) }]);
  return program;
}

/** Names of the candidates for this product by the texts of their kernels. */
const names = new Map<string, string>();
for (let at = 0, count = 1; at < count; at++) {
  const choose: KernelTuning['choose'] = ({ candidates }) => {
    count = candidates.size;
    names.set('next', [...candidates.keys()][at]);
    return [...candidates.values()][at];
  };
  const [{ body }] = gpuKernelsOf(productOf(), { ...gpuTarget, tuning: { choose } });
  names.set(JSON.stringify(body), names.get('next')!);
}

const usual = '32x32x16 by 1x4';
const [one, other] = ['32x32x16 by 4x4', '16x32x16 by 2x4'];

class MeasuredFake extends FakeBackend implements MeasuredBackend {
  readonly adapter: string;
  choices: KernelTuning | undefined;
  /** Milliseconds of a kernel by the name of the candidate. Default 10. */
  readonly times: Map<string, number> = new Map();
  /** Candidates that a driver refuses, and those that compute something else. */
  readonly refused: Set<string> = new Set();
  readonly wrong: Set<string> = new Set();
  /** Candidates that have been launched. */
  readonly launched: string[] = [];
  measured = 0;
  now = 0;
  #preparing: string[] | null = null;

  constructor(adapter: string) {
    const holder: { of?: MeasuredFake } = {};
    const target = {
      ...gpuTarget,
      get tuning(): KernelTuning | undefined {
        return holder.of?.choices;
      },
    };
    super('measured', { dtypes, target, bufferBytes: 2 ** 22 });
    holder.of = this;
    this.adapter = adapter;
  }

  get dispatches(): number {
    return this.launches;
  }

  async accepts(launch: () => void): Promise<boolean> {
    return !this.#prepared(launch).some((name) => this.refused.has(name));
  }

  async measure(launch: () => void, rounds: number): Promise<number> {
    this.measured++;
    const time = this.#prepared(launch).reduce((sum, name) => sum + (this.times.get(name) ?? 10), 0); // prettier-ignore
    this.now += time * rounds;
    return time;
  }

  /** What `launch` launches, without running it. */
  #prepared(launch: () => void): readonly string[] {
    const prepared: string[] = (this.#preparing = []);
    launch();
    this.#preparing = null;
    return prepared;
  }

  override prepare(kernel: Kernel): Launch {
    const launch = super.prepare(kernel);
    const name = names.get(JSON.stringify(kernel.body)) ?? kernel.name;
    return (args, condition) => {
      if (this.#preparing !== null) return void this.#preparing.push(name);
      this.launched.push(name);
      launch(args, condition);
      if (!this.wrong.has(name)) return;
      for (const arg of args) {
        if (typeof arg !== 'object' || !('buffer' in arg) || arg.buffer.length !== m * n) continue;
        this.write(arg.buffer, new Float32Array(m * n).fill(0.5));
      }
    };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Setup {
  readonly fake: MeasuredFake;
  readonly tuner: Tuner;
  readonly warnings: string[];
  /** Plans the product, and tells the candidate that it runs. */
  readonly plan: () => () => Promise<string>;
}

function setUp(
  options: Partial<TunerOptions> = {},
  fake: MeasuredFake = new MeasuredFake('a card'),
): Setup {
  const warnings: string[] = [];
  const clock = {
    now: () => fake.now,
    // Longer than the runs of these tests.
    wait: async (milliseconds: number) => {
      fake.now += milliseconds;
      for (let at = 0; at < 8; at++) await turn();
    },
  };
  const tuner = new Tuner(fake, { clock, warn: (problem) => void warnings.push(problem), ...options }); // prettier-ignore
  fake.choices = tuner;
  const queue = new DeviceQueue(fake);
  const plan = (): (() => Promise<string>) => {
    const executable = new DeviceExecutable(productOf(), queue, 'strict');
    return async () => {
      const inputs = [[m, k], [k, n]].map((shape) => ({
        storage: new Storage('float32', new Float32Array(shape[0] * shape[1]).fill(1)).onBackend(queue),
        shape,
      })); // prettier-ignore
      const before = fake.launched.length;
      const [{ storage }] = executable.run(inputs);
      const [name] = fake.launched.slice(before);
      if (!fake.wrong.has(name)) assert.ok((await storage.read()).every((element) => element === k)); // prettier-ignore
      return name;
    };
  };
  return { fake, tuner, warnings, plan };
}

/** The choice for the only product. */
function choiceIn(tuning: DeviceTuning, adapter: string = 'a card'): string | undefined {
  return Object.values(tuning[adapter])[0];
}

describe('a tuner', () => {
  it('has later plans take the fastest candidate, and leaves earlier ones as they are', async () => {
    const { fake, tuner, plan, warnings } = setUp();
    const first = plan();
    assert.equal(await first(), usual);
    assert.deepEqual(tuner.tuning, { 'a card': {} });
    fake.times.set(one, 4).set(other, 5);
    const tuning = await tuner.finish();
    assert.equal(choiceIn(tuning), one);
    assert.equal(await first(), usual);
    assert.equal(await plan()(), one);
    assert.equal(await first(), usual);
    assert.deepEqual(warnings, []);
    // The key names operator, kind of kernel, sizes and dtypes.
    assert.match(
      Object.keys(tuning['a card'])[0],
      /^matmul tile 1x32x32x8 float32,float32 rows rows cut whole$/,
    );
    // Another product of the class asks nothing new.
    const { measured } = fake;
    await tuner.finish();
    assert.equal(fake.measured, measured);
  });

  it('keeps to the usual candidate where another one gains next to nothing', async () => {
    const { fake, tuner, plan } = setUp();
    fake.times.set(one, 9.7);
    plan();
    await tuner.finish();
    assert.equal(await plan()(), usual);
  });

  it('drops candidates that the driver refuses, and those whose results differ', async () => {
    const { fake, tuner, plan, warnings } = setUp();
    fake.times.set(one, 1).set(other, 2);
    fake.refused.add(one);
    fake.wrong.add(other);
    plan();
    await tuner.finish();
    assert.equal(await plan()(), usual);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /16x32x16 by 2x4 of matmul tile .* is wrong on this device/);
  });

  it('chooses nothing where the usual candidate itself is refused', async () => {
    const { fake, tuner, plan } = setUp();
    fake.refused.add(usual);
    plan();
    assert.deepEqual(await tuner.finish(), { 'a card': {} });
  });

  it('waits for the device to be at rest, unless somebody waits for it', async () => {
    const { fake, tuner, plan } = setUp();
    const run = plan();
    for (let step = 0; step < 30; step++) {
      await run();
      await turn();
    }
    // Each look found that something had been launched since the last one.
    assert.equal(fake.launched.length, 30);
    assert.equal(fake.measured, 0);
    for (let at = 0; at < 2000 && choiceIn(tuner.tuning) === undefined; at++) await turn();
    assert.ok(fake.measured > 2);
    assert.notEqual(choiceIn(tuner.tuning), undefined);
  });

  it('measures nothing beside a profile, and says so to who waits', async () => {
    const { fake, tuner, plan } = setUp();
    profiling.recorder = new Recorder();
    try {
      plan();
      await assert.rejects(tuner.finish(), DeviceError);
      for (let at = 0; at < 50; at++) await turn();
      assert.equal(fake.measured, 0);
    } finally {
      profiling.recorder = null;
    }
    assert.notEqual(choiceIn(await tuner.finish()), undefined);
  });

  it('begins nothing beside a profile that begins just then', async () => {
    for (let ticks = 0; ticks < 8; ticks++) {
      const fake = new MeasuredFake('a card');
      /** A profile of the rest of this turn of the event loop, some microtasks behind the end of a wait. */
      const profileSoon = async (): Promise<void> => {
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
        profiling.recorder = new Recorder();
        setImmediate(() => (profiling.recorder = null));
      };
      let waits = 0;
      const clock = {
        now: () => fake.now,
        wait: async () => {
          await turn();
          if (waits++ % 2 === 0) void profileSoon();
        },
      };
      let beside = 0;
      const measure = fake.measure.bind(fake);
      fake.measure = (launch, rounds) => {
        beside += Number(profiling.recorder !== null);
        return measure(launch, rounds);
      };
      const { tuner, plan } = setUp({ clock }, fake);
      plan();
      for (let at = 0; at < 2000 && choiceIn(tuner.tuning) === undefined; at++) await turn();
      // Whatever has begun ends.
      for (let at = 0; at < 3; at++) await turn();
      assert.equal(profiling.recorder, null);
      assert.notEqual(choiceIn(tuner.tuning), undefined);
      assert.equal(beside, 0);
    }
  });

  it('keeps to its limits of time and memory', async () => {
    const slow = setUp({ limits: { kernel: 25 } });
    slow.plan();
    // Three candidates are measured within 25 ms, of which the first is as fast as any.
    assert.notEqual(choiceIn(await slow.tuner.finish()), undefined);
    assert.equal(slow.fake.measured, 3);
    const none = setUp({ limits: { all: 0 } });
    none.plan();
    assert.deepEqual(await none.tuner.finish(), { 'a card': {} });
    assert.equal(none.fake.measured, 0);
    // Of operands and of the result, which is larger.
    for (const bytes of [4 * (m * k + k * n), 4 * m * n]) {
      const small = setUp({ limits: { bytes: bytes - 1 } });
      small.plan();
      assert.deepEqual(await small.tuner.finish(), { 'a card': {} });
      assert.equal(small.fake.measured, 0);
      assert.equal(small.fake.bytesInUse, 0);
    }
  });

  it('gives all memory back', async () => {
    const { fake, tuner, plan } = setUp();
    plan();
    const before = fake.bytesInUse;
    await tuner.finish();
    assert.equal(fake.bytesInUse, before);
  });

  it('takes what is known of its adapter, and measures it no more', async () => {
    const measuring = setUp();
    measuring.fake.times.set(one, 1);
    measuring.plan();
    const known = await measuring.tuner.finish();
    const later = setUp({ known });
    assert.equal(await later.plan()(), one);
    assert.deepEqual(await later.tuner.finish(), known);
    assert.equal(later.fake.measured, 0);
    const other = setUp({ known }, new MeasuredFake('another card'));
    assert.equal(await other.plan()(), usual);
    assert.deepEqual(Object.keys(await other.tuner.finish()), ['another card']);
    assert.ok(other.fake.measured > 0);
  });

  it('stores each choice beside those of others', async () => {
    let text: string | null = JSON.stringify({ 'another card': { a: 'b' } });
    const store = new TuningStore(
      { read: () => text, write: (next) => void (text = next) },
      assert.fail,
    );
    const { fake, tuner, plan } = setUp({ store });
    fake.times.set(one, 1);
    plan();
    const tuning = await tuner.finish();
    assert.deepEqual(JSON.parse(text), { 'another card': { a: 'b' }, ...tuning });
    assert.deepEqual(store.load(), JSON.parse(text));
  });

  it('goes on without a choice where a name is not known', async () => {
    const { tuner, plan } = setUp();
    plan();
    const [key] = Object.keys((await tuner.finish())['a card']);
    const later = setUp({ known: { 'a card': { [key]: 'a tile of an earlier version' } } });
    assert.equal(await later.plan()(), usual);
    assert.notEqual(choiceIn(await later.tuner.finish()), 'a tile of an earlier version');
  });
});
