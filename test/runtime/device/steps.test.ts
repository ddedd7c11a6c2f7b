import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { DeviceError } from '../../../src/base/errors.js';
import * as kn from '../../../src/index.js';
import { Program } from '../../../src/ir/program.js';
import { neg } from '../../../src/ops/index.js';
import { planSteps } from '../../../src/passes/lower/main/stepwise.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { StepRunner } from '../../../src/runtime/device/steps.js';
import { testControl } from '../../support/control.js';
import { FakeBackend } from '../../support/fake-device.js';

const devices = {
  'a device that decides': new FakeBackend('decides'),
  'a device that decides and answers at once': new FakeBackend('at once', { answersAtOnce: true }),
  'a device that is asked': new FakeBackend('asked', { hasConditions: false }),
};

for (const [name, backend] of Object.entries(devices)) {
  testControl(name, {
    name: backend.name,
    decides: backend.hasConditions,
    use: () => registerDevice(backend),
    reads: () => backend.reads,
  });
}

test('more elements than kernels count are refused before anything runs', () => {
  const backend = new FakeBackend('counting', { bufferBytes: 2 ** 32, budget: 2 ** 34 });
  const queue = new DeviceQueue(backend);
  const program = new Program();
  const x = program.variable('x', { dtype: 'uint8', shape: [symbol('n')] });
  program.setOutputs([{ name: 'y', value: neg(x) }]);
  const steps = new StepRunner(planSteps(program, backend.target), queue);
  const input = { buffer: backend.allocate('uint8', 4), offset: 0 };
  const run = (n: number): unknown => steps.run([input], new Map([['n', n]])).next();
  assert.throws(() => run(2 ** 31 - 2 ** 22), DeviceError);
  assert.throws(() => run(2 ** 31 + 4), DeviceError);
  assert.equal(backend.launches, 0);
  run(4);
  assert.ok(backend.launches > 0);
});

test('a loop in chunks that is lost with its device tells nobody but its reader', async () => {
  const backend = new FakeBackend('losing');
  registerDevice(backend);
  const count = kn.hybridize(
    (x: kn.NDArray) => kn.whileLoop((k) => k.less(1e6), (k) => [[], [k.add(1)]], [x])[1][0], // prettier-ignore
  );
  const rejected: unknown[] = [];
  const hear = (error: unknown): void => void rejected.push(error);
  process.on('unhandledRejection', hear);
  try {
    const counted = count(kn.zeros([]).to(backend.name));
    // Two answers are on their way.
    backend.lose();
    await assert.rejects(async () => counted.data(), DeviceError);
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual(rejected, []);
  } finally {
    process.off('unhandledRejection', hear);
  }
});
