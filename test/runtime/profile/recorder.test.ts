import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { endMark } from '../../../src/passes/lower/main/main.js';
import type { KernelLabel } from '../../../src/runtime/profile/label.js';
import { mark, Recorder, type TimedDevice } from '../../../src/runtime/profile/recorder.js';
import { symbol } from '../../../src/base/dim/index.js';

const label = (name: string, traffic: KernelLabel['traffic'] = null): KernelLabel => ({
  name,
  source: null,
  reads: [],
  traffic,
});

/** A clock that stands still unless it is told to go on. */
function clockOf(t: TestContext): (milliseconds: number) => void {
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  return (milliseconds) => (now += milliseconds);
}

test('marks become kernels that last until the next mark', (t) => {
  const wait = clockOf(t);
  const recorder = new Recorder();
  const rows = symbol('rows', { min: 0, max: 100 });
  const labels = new Map([[4, label('first', 12)], [7, label('second', rows)]]); // prettier-ignore
  wait(5);
  for (const step of [4, 7, 7]) {
    mark(step);
    wait(step);
  }
  mark(endMark);
  wait(50);
  recorder.marks(labels, 'cpu', new Map([['rows', 10]]));
  assert.deepEqual(
    recorder.kernels.map((kernel) => [kernel.label.name, kernel.calls, kernel.milliseconds, kernel.bytes]), // prettier-ignore
    [['first', 1, 4, 12], ['second', 2, 14, 20]], // prettier-ignore
  );
  assert.deepEqual(
    recorder.events.map(({ begin, milliseconds }) => [begin, milliseconds]),
    [[5, 4], [9, 7], [16, 7]], // prettier-ignore
  );
});

test('what only the profile needs takes no time', async (t) => {
  const wait = clockOf(t);
  const recorder = new Recorder();
  wait(1);
  const begin = recorder.now;
  wait(2);
  assert.equal(
    recorder.prepare(() => (wait(1000), 'made')),
    'made',
  );
  assert.throws(() => recorder.prepare(() => { wait(500); throw new Error('not made'); }), /not made/); // prettier-ignore
  wait(3);
  recorder.host('operator', 'add', begin);
  recorder.host('compile', 'compile', begin);
  assert.deepEqual([...recorder.operators], [['add', { calls: 1, milliseconds: 5 }]]);
  assert.equal(await recorder.end(), 6);
});

test('bytes that sizes leave open are unknown, and stay it', (t) => {
  clockOf(t);
  const recorder = new Recorder();
  const labels = new Map([[0, label('found', symbol('count', { min: 0, max: 9 }))]]);
  for (const names of [new Map<string, number>(), new Map([['count', 2]])]) {
    mark(0);
    mark(endMark);
    recorder.marks(labels, 'cpu', names);
    assert.deepEqual(recorder.kernels.map(({ calls, bytes }) => [calls > 0, bytes]), [[true, null]]); // prettier-ignore
  }
});

test('times of a device follow the launch of its first kernel, whatever its clock shows', async (t) => {
  const wait = clockOf(t);
  const recorder = new Recorder();
  const launched: string[] = [];
  const device: TimedDevice = {
    name: 'gpu',
    startTimer: () => ({
      get launched() {
        return launched.length;
      },
      stop: () =>
        Promise.resolve(
          launched.map((name, k) => ({ name, begin: 7000 + 10 * k, end: 7004 + 10 * k })),
        ),
    }),
  };
  wait(3);
  recorder.launch(device, label('matmul', 8), new Map(), () => launched.push('kernel0'));
  launched.push('clear');
  recorder.launch(device, label('matmul', 8), new Map(), () => launched.push('kernel0'));
  await recorder.end();
  assert.deepEqual(
    recorder.events.map(({ name, track, begin, milliseconds }) => [name, track, begin, milliseconds]), // prettier-ignore
    [['matmul', 'gpu', 3, 4], ['clear', 'gpu', 13, 4], ['matmul', 'gpu', 23, 4]], // prettier-ignore
  );
  assert.deepEqual(
    recorder.kernels.map((kernel) => [kernel.label.name, kernel.calls, kernel.milliseconds, kernel.bytes]), // prettier-ignore
    [['matmul', 2, 8, 16], ['clear', 1, 4, null]], // prettier-ignore
  );
});
