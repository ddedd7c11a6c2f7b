import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { DeviceTime, DeviceTimer } from '../../../src/runtime/profile/recorder.js';
import { FakeBackend } from '../../support/fake-device.js';

/** An entry of Chrome's trace format, as far as viewers need it. */
interface ChromeEvent {
  readonly ph: string;
  readonly name: string;
  readonly cat?: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, unknown>>;
}

const eventsOf = (profile: kn.Profile): readonly ChromeEvent[] =>
  (JSON.parse(profile.toChromeTrace()) as { readonly traceEvents: readonly ChromeEvent[] })
    .traceEvents;

/** Calls of the kernels that compute an operator. */
const callsOf = ({ kernels }: kn.Profile, operator: string): number =>
  kernels
    .filter(({ name }) => name.split(' + ').includes(operator))
    .reduce((sum, { calls }) => sum + calls, 0);

test('eager operators are kernels and operators, with the bytes that they move', async () => {
  const [x, y] = [kn.ones([4, 8]), kn.ones([8])];
  const profile = await kn.profile(() => {
    for (let i = 0; i < 3; i++) kn.add(x, y);
    kn.reshape(x, [8, 4]);
  });
  const [add] = profile.kernels;
  assert.deepEqual([profile.kernels.length, add.name, add.calls], [1, 'add', 3]);
  assert.deepEqual([add.source, add.device.slice(0, 3)], [null, 'cpu']);
  // Both operands are read, the result is written.
  assert.equal(add.bytes, 3 * 4 * (32 + 8 + 32));
  const operators = Object.fromEntries(profile.operators.map(({ name, calls }) => [name, calls]));
  assert.deepEqual(operators, { add: 3, reshape: 1 });
});

test('kernels of captured code name their operators, their line and the parameters', async () => {
  const net = new kn.nn.Sequential(new kn.nn.Dense(8, { activation: 'relu' }), new kn.nn.Dense(4));
  net.initialize();
  net.hybridize();
  const x = kn.ones([3, 5]);
  const expected = net.call(x).tolist();
  let actual: unknown;
  const profile = await kn.profile(() => {
    actual = net.call(x).tolist();
    net.call(x);
  });
  assert.deepEqual(actual, expected);
  const first = profile.kernels.find(({ reads }) => reads.includes('layers.0.weight'))!;
  assert.match(first.name, /matmul \+ add \+ relu/);
  assert.match(first.source!, /profile\.test\.[jt]s:\d+/);
  assert.equal(first.calls, 2);
  const second = profile.kernels.find(({ reads }) => reads.includes('layers.1.weight'))!;
  assert.equal(second.calls, 2);
  assert.deepEqual(
    profile.operators.map(({ name, calls }) => [name, calls]),
    [['Sequential', 2]],
  );
});

test('kernels inside of loops and branches count as often as they run', async () => {
  const w = kn.full([8, 8], 0.01);
  const scan = kn.hybridize((xs: kn.NDArray, s: kn.NDArray) => {
    const [rows] = kn.foreach(
      (x, state) => {
        const next = kn.tanh(kn.add(x, kn.matmul(state, w)));
        return [next, next];
      },
      xs,
      s,
    );
    return rows;
  });
  const grown = kn.hybridize((x: kn.NDArray) => {
    const [, [last]] = kn.whileLoop(
      (y) => kn.sum(y).less(1000),
      (y) => [[], [y.mul(0.5).exp()]],
      [x],
      { maxIterations: 50 },
    );
    return last;
  });
  const chosen = kn.hybridize((x: kn.NDArray) =>
    kn.cond(kn.greater(kn.sum(x), 0), () => kn.cosh(x), () => kn.sinh(x)),
  ); // prettier-ignore
  const xs = kn.full([40, 2, 8], 0.5);
  const x = kn.ones([2]);
  let iterations = 0;
  for (let y = [1, 1]; y[0] + y[1] < 1000; iterations++) y = y.map((each) => Math.exp(each * 0.5));
  const run = (): unknown[] =>
    [scan(xs, kn.ones([2, 8])), grown(x), chosen(x)].map((y) => (y as kn.NDArray).tolist());
  const expected = run();
  let actual: unknown[] = [];
  const profile = await kn.profile(() => (actual = run()));
  assert.deepEqual(actual, expected);
  assert.equal(callsOf(profile, 'tanh'), 40);
  assert.equal(callsOf(profile, 'exp'), iterations);
  assert.equal(callsOf(profile, 'cosh'), 1);
  assert.equal(callsOf(profile, 'sinh'), 0);
});

test('training steps are those of a run without a profile, bit for bit', async () => {
  const losses = async (isProfiled: boolean): Promise<unknown[]> => {
    kn.random.seed(3);
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(8),
      new kn.nn.Dropout(0.3),
      new kn.nn.Dense(2),
    );
    net.initialize();
    const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
    const step = kn.hybridize((x: kn.NDArray) => {
      const loss = kn.autograd.record(() => net.call(x).square().mean());
      loss.backward();
      optimizer.step();
      return loss;
    });
    const x = kn.random.normal([5, 3]);
    const found: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      const once = (): void => void found.push(step(x).item());
      // From the middle on: state goes from code without marks to code with marks, and back.
      if (isProfiled && i % 3 === 1) await kn.profile(once);
      else once();
    }
    return [...found, ...[...net.parameters().values()].map((each) => each.value.tolist())];
  };
  assert.deepEqual(await losses(true), await losses(false));
});

test('native code is measured as it is', async () => {
  const f = kn.hybridize((x: kn.NDArray) => kn.matmul(x, x).add(1).tanh(), { tier: 'native' });
  const x = kn.full([16, 16], 0.01);
  const expected = f(x).tolist();
  const isNative = f.explain().traces[0].tiers[0].tier === 'native';
  let actual: unknown;
  const { kernels } = await kn.profile(() => (actual = f(x).tolist()));
  assert.deepEqual(actual, expected);
  assert.deepEqual(
    [...new Set(kernels.map(({ device }) => device))],
    [isNative ? 'cpu (native)' : 'cpu (wasm)'],
  );
  assert.ok(kernels.some(({ name }) => name.includes('matmul')));
});

test('parts of programs whose sizes the data decides are measured one by one', async () => {
  const f = kn.hybridize((x: kn.NDArray) => kn.exp(kn.booleanMask(x, kn.greater(x, 0))).sum());
  const x = kn.array([1, -2, 3, 0, 5]);
  const expected = f(x).item();
  let actual: unknown;
  const profile = await kn.profile(() => (actual = f(x).item()));
  assert.equal(actual, expected);
  assert.equal(callsOf(profile, 'exp'), 1);
});

test('kernels of another device are measured there, under its name', async () => {
  registerDevice(new FakeBackend('measured', { answersAtOnce: true }));
  const f = kn.hybridize((x: kn.NDArray) => kn.tanh(kn.add(x, 1)));
  const x = kn.ones([6]).to('measured');
  const expected = f(x).tolist();
  let actual: unknown;
  const { kernels } = await kn.profile(() => (actual = f(x).tolist()));
  assert.deepEqual(actual, expected);
  assert.deepEqual(
    kernels.map(({ name, calls, bytes, device }) => [name, calls, bytes, device]),
    [['add + tanh', 1, 2 * 6 * 4, 'measured']],
  );
});

test('the table has the longest kernel first, and times that add up', async () => {
  const [a, b] = [kn.ones([64, 64]), kn.ones([4])];
  const profile = await kn.profile(() => {
    kn.matmul(a, a);
    kn.add(b, b);
  });
  const { milliseconds, kernels } = profile;
  const times = kernels.map((kernel) => kernel.milliseconds);
  assert.ok(times.every((time) => time >= 0));
  assert.deepEqual(
    times,
    [...times].sort((x, y) => y - x),
  );
  assert.ok(times.reduce((sum, time) => sum + time, 0) <= milliseconds);
  const lines = profile.toString().split('\n');
  assert.match(lines[0], /^\d+\.\d+ ms, of which kernels took \d+\.\d+ ms$/);
  assert.match(lines[1], /^kernel +calls +ms +% +us a call +GB\/s +device/);
  assert.ok(lines[2].startsWith(kernels[0].name));
  assert.ok(lines.some((line) => /^matmul +1 /.test(line)));
});

test("Chrome's trace has complete events, kernels within the programs that run them", async () => {
  const f = kn.hybridize((x: kn.NDArray) => kn.tanh(kn.matmul(x, x)), { name: 'model' });
  const x = kn.full([8, 8], 0.1);
  f(x);
  const profile = await kn.profile(() => void f(x));
  const events = eventsOf(profile);
  const names = events.filter(({ ph }) => ph === 'M').map(({ name, args }) => `${name} ${String(args['name'])}`); // prettier-ignore
  const [kernel] = profile.kernels;
  assert.deepEqual(names, ['process_name kaon', 'thread_name host', `thread_name ${kernel.device}`]); // prettier-ignore
  const complete = events.filter(({ ph }) => ph === 'X');
  assert.equal(complete.length, events.length - names.length);
  for (const { ts, dur, pid, tid, name, cat } of complete) {
    assert.ok(ts >= 0 && dur >= 0, name);
    assert.deepEqual([pid, tid], [1, cat === 'kernel' ? 1 : 0]);
    assert.ok(ts + dur <= profile.milliseconds * 1000, 'times are in microseconds');
  }
  const [program] = complete.filter(({ cat }) => cat === 'program');
  const [model] = complete.filter(({ name }) => name === 'model');
  const within = (inner: ChromeEvent, outer: ChromeEvent): boolean =>
    outer.ts <= inner.ts && inner.ts + inner.dur <= outer.ts + outer.dur;
  assert.ok(within(program, model));
  const kernels = complete.filter(({ cat }) => cat === 'kernel');
  assert.ok(kernels.length > 0 && kernels.every((each) => within(each, program)));
  assert.match(String(kernels[0].args['source']), /profile\.test\.[jt]s/);
});

test('asynchronous functions are waited for', async () => {
  const x = kn.ones([3]);
  const profile = await kn.profile(async () => {
    await Promise.resolve();
    kn.add(x, 1);
    await new Promise((resolve) => setImmediate(resolve));
    kn.sin(x);
  });
  assert.deepEqual(profile.operators.map(({ name }) => name).sort(), ['add', 'sin']);
});

test('a failing function ends the profile, and its error is passed on', async () => {
  const x = kn.ones([3]);
  const failed = kn.profile(() => kn.matmul(x, kn.ones([4])));
  await assert.rejects(failed, kn.ShapeError);
  const { operators } = await kn.profile(() => kn.add(x, x));
  assert.deepEqual(operators.map(({ name }) => name), ['add']); // prettier-ignore
});

test('a failing function ends the timing of devices, too', async () => {
  let running = 0;
  class Timed extends FakeBackend {
    startTimer(): DeviceTimer {
      running++;
      const stop = async (): Promise<readonly DeviceTime[]> => {
        running--;
        throw new Error('no times');
      };
      return { launched: 0, stop };
    }
  }
  registerDevice(new Timed('timed', { answersAtOnce: true }));
  const x = kn.ones([6]).to('timed');
  const failed = kn.profile(() => {
    kn.exp(x);
    assert.equal(running, 1);
    kn.matmul(x, kn.ones([4]).to('timed'));
  });
  await assert.rejects(failed, kn.ShapeError);
  assert.equal(running, 0);
  await assert.rejects(
    kn.profile(() => kn.exp(x)),
    /no times/,
  );
  assert.equal(running, 0);
});

test('only functions can be profiled, one at a time', async () => {
  await assert.rejects(kn.profile(5 as unknown as () => void), {
    name: 'ArgumentError',
    message: /profile takes a function/,
  });
  await kn.profile(async () => {
    await assert.rejects(
      kn.profile(() => {}),
      {
        name: 'GraphError',
        message: /a profile is being recorded already/,
      },
    );
  });
});
