import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { gpuTarget } from '../../../../src/kernels/gpu/index.js';
import { cummax, cummaxPosition, cumprod, cumsum, recurrence } from '../../../../src/ops/index.js';
import { DeviceExecutable } from '../../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../../src/runtime/device/queue.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf } from '../../../support/arrays.js';
import { FakeBackend } from '../../../support/fake-device.js';
import { gpuKernelsOf } from '../../../support/gpu-programs.js';
import { operand } from '../../../support/programs.js';

/* Dispatches of scans. */

const length = symbol('length');
const short = symbol('short', { max: 4096 });

/** For each dispatch of a scan, true where it has workgroups. */
function dispatches(of: (x: Value) => Value, ...shape: readonly Dim[]): readonly boolean[] {
  const program = new Program();
  program.setOutputs([
    { name: 'y', value: of(program.variable('x', { dtype: 'float32', shape })) },
  ]);
  return gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length > 0);
}

test('few long rows are scanned in blocks: their states, and the results', () => {
  const two = [true, true];
  assert.deepEqual(dispatches((x) => cumsum(x, 0), 2 ** 22), two);
  assert.deepEqual(dispatches((x) => cumsum(x, null, { reverse: true }), 300, 300), two);
  assert.deepEqual(dispatches((x) => cumprod(x, 1, { exclusive: true }), 4, 2 ** 15), two);
  assert.deepEqual(dispatches((x) => cummax(x, 0), 5000, 64), two);
  assert.deepEqual(dispatches((x) => recurrence(x, x, 0), length), two);
  assert.deepEqual(dispatches((x) => recurrence(x, x, 1), 3, length, 5), two);
}); // prettier-ignore

test('others are one dispatch: workgroups for rows, or invocations', () => {
  assert.deepEqual(dispatches((x) => cumsum(x, 0), short), [true]);
  assert.deepEqual(dispatches((x) => cumprod(x, 1), 2000, 2 ** 15), [true]);
  assert.deepEqual(dispatches((x) => cummax(x, 0), 500, 64), [true]);
  assert.deepEqual(dispatches((x) => cumsum(x, 0), 60), [false]);
  assert.deepEqual(dispatches((x) => cumsum(x, 0), 500, 2 ** 17), [false]);
}); // prettier-ignore

test('of a dtype that a device lacks both steps are computed elsewhere', async () => {
  const queue = new DeviceQueue(new FakeBackend('narrow', { target: gpuTarget }));
  const elements = Array.from({ length: 20_000 }, (_, k) => (k % 5) - 1);
  const x = operand('int32', [elements.length], elements);
  for (const [of, expected] of [
    [(x: Value) => cumsum(x, 0, { reverse: true }), (k: number) => elements.slice(k).reduce((a, b) => a + b)],
    [(x: Value) => cummaxPosition(x, 0), (k: number) => (k < 4 ? k : k - ((k + 1) % 5))],
  ] as const) {
    const program = new Program();
    program.setOutputs([{ name: 'y', value: of(program.variable('x', { dtype: 'int32', shape: x.shape })) }]);
    const executable = new DeviceExecutable(program, queue, 'islands');
    const [{ storage, shape }] = executable.run([{ storage: x.storage.onBackend(queue), shape: x.shape }]);
    const found = numbersOf({ storage: new Storage(storage.dtype, await storage.read()), shape });
    for (const k of [0, 3, 4, 9000, 9001, 19_999]) assert.equal(found[k], expected(k), String(k));
    executable.release();
  }
}); // prettier-ignore
