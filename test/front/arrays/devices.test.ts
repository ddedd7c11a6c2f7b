import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';
import { provideDevice, registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';
import { gpuForTests } from '../../support/webgpu.js';

const fake = new FakeBackend('default device');
registerDevice(fake);

const { threads } = kn.config;
afterEach(() => (kn.config.device = 'cpu'));
after(() => assert.equal(kn.config.threads, threads));

async function hasGpu(): Promise<boolean> {
  const gpu = await gpuForTests();
  if (typeof gpu === 'string') return false;
  gpu.close();
  return true;
}

test('a device that is not there says what is missing', async () => {
  if (!(await hasGpu())) {
    for (const worker of [false, true]) {
      await assert.rejects(
        () => kn.initDevice('webgpu', { worker }),
        (error) => error instanceof kn.DeviceError && /WebGPU/.test(error.message),
      );
    }
  }
  const adapter = { requestDevice: () => null, limits: {}, features: new Set() };
  await assert.rejects(() => kn.initDevice('webgpu', { worker: true, adapter }), kn.UnsupportedError); // prettier-ignore
  await assert.rejects(() => kn.initDevice('nowhere'), kn.ArgumentError);
  await assert.rejects(
    () => kn.initDevice('default device', { memoryBudget: -1 }),
    kn.ArgumentError,
  );
  await kn.initDevice('cpu');
  await kn.initDevice('default device');
});

test('a device is set up once, by what provides it, with the options that were given', async () => {
  let setups = 0;
  provideDevice('provided', async ({ memoryBudget }) => {
    setups++;
    return new FakeBackend('provided', { budget: Number(memoryBudget) });
  });
  await Promise.all([1, 2].map(() => kn.initDevice('provided', { memoryBudget: 2 ** 12 })));
  await kn.initDevice('provided');
  await kn.initDevice('provided', { memoryBudget: 2 ** 12, worker: false, tuning: 'off' });
  for (const other of [
    { memoryBudget: 2 ** 20 },
    { worker: true },
    { tuning: 'background' },
  ] as const) {
    await assert.rejects(
      () => kn.initDevice('provided', other),
      (error) =>
        error instanceof kn.ArgumentError &&
        error.message.includes(`with another ${Object.keys(other)[0]}`),
    );
  }
  assert.equal(setups, 1);
  assert.equal(kn.zeros([2]).to('provided').device, 'provided');
  assert.throws(() => kn.zeros([2 ** 11]).to('provided'), kn.DeviceError);
});

test('a device that could not be set up may be tried again', async () => {
  let isBroken = true;
  provideDevice('moody', async () => {
    if (isBroken) throw new kn.DeviceError('there is no adapter', { op: 'initDevice' });
    return new FakeBackend('moody');
  });
  await assert.rejects(() => kn.initDevice('moody', { worker: true }), kn.DeviceError);
  isBroken = false;
  await kn.initDevice('moody', { worker: false });
  assert.equal(kn.deviceInfo('moody').bytesInUse, 0);
});

test('new arrays live on the device of the configuration, if it can hold them', async () => {
  assert.throws(() => (kn.config.device = 'nowhere'), kn.ArgumentError);
  assert.throws(() => (kn.config.device = 3 as unknown as string), kn.ArgumentError);
  kn.config.device = 'default device';
  assert.equal(kn.config.device, 'default device');
  kn.random.seed(3);
  const made: Readonly<Record<string, kn.NDArray>> = {
    array: kn.array([1, 2]),
    zeros: kn.zeros([2, 2]),
    arange: kn.arange(4),
    linspace: kn.linspace(0, 1, 3),
    eye: kn.eye(2),
    normal: kn.random.normal([3]),
    randint: kn.random.randint(0, 5, [3]),
  };
  for (const [name, array] of Object.entries(made))
    assert.equal(array.device, 'default device', name);
  assert.equal(kn.zeros([2], { dtype: 'int64' }).device, 'cpu');
  const there = await made.normal.data();
  kn.config.device = 'cpu';
  kn.random.seed(3);
  assert.deepEqual(there, kn.random.normal([3]).dataSync());
  assert.equal(kn.zeros([2]).device, 'cpu');
});

test('graphs that are read from files run where new arrays live', async () => {
  kn.random.seed(3);
  const net = new kn.nn.Dense(2, { inputs: 3 }).initialize();
  const x = kn.array([[1, -2, 3]]);
  const graph = net.hybridize().graphFor(x);
  const [expected] = Object.values(graph.run({ [graph.inputNames[0]]: x }));
  const [json, bytes] = [graph.toJSON(), toOnnx(graph)];
  kn.config.device = 'default device';
  for (const again of [kn.StaticGraph.fromJSON(json), fromOnnx(bytes)]) {
    const [found] = Object.values(again.run({ [again.inputNames[0]]: kn.array([[1, -2, 3]]) }));
    assert.equal(found.device, 'default device');
    assert.deepEqual((await found.cpu()).tolist(), expected.tolist());
  }
});

test('what is in use of a device is told', () => {
  const before = kn.deviceInfo('default device').bytesInUse;
  const there = kn.zeros([16]).to('default device');
  const { bytesInUse, dtypes, answersAtOnce, largestArray } = kn.deviceInfo('default device');
  assert.equal(bytesInUse, before + 64);
  assert.ok(!dtypes.includes('float64') && dtypes.includes('bfloat16'));
  assert.equal(answersAtOnce, false);
  assert.equal(largestArray, fake.limits.bufferBytes);
  assert.equal(there.device, 'default device');
  assert.equal(kn.deviceInfo().name, 'cpu');
  assert.throws(() => kn.deviceInfo('nowhere'), kn.ArgumentError);
});

test('a device that nobody provides, and an adapter that is none, are refused', async () => {
  await assert.rejects(kn.initDevice('cuda'), { name: 'ArgumentError', expected: /^cpu, webgpu/ });
  for (const adapter of [3, {}, { requestDevice: () => null }]) {
    await assert.rejects(kn.initDevice('webgpu', { adapter }), {
      name: 'ArgumentError',
      expected: 'a GPUAdapter, as navigator.gpu.requestAdapter() gives it',
    });
  }
});

test('kernels are measured on devices that can measure them, by options that are right', async () => {
  await assert.rejects(kn.deviceTuning('cpu'), {
    name: 'DeviceError',
    message: /are not measured/,
  });
  await assert.rejects(async () => kn.deviceTuning('nowhere'), {
    name: 'ArgumentError',
    message: /there is no such device/,
  });
  for (const tuning of ['on', true, { card: 'tile' }, { card: { kernel: 3 } }]) {
    // Whoever does not check types.
    await assert.rejects(kn.initDevice('webgpu', { tuning } as unknown as kn.InitDeviceOptions), {
      name: 'ArgumentError',
      message: /one of 'off', 'background', or a record of deviceTuning/,
    });
  }
});
