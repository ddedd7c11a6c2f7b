import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

/* A GPU in a worker, as users see it: elements are there at once. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const opened: WebGpuBackend[] = [];

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

async function open(): Promise<WebGpuBackend> {
  const backend = await setUpWebGpu({ worker: true });
  registerDevice(backend);
  opened.push(backend);
  return backend;
}

test('elements are read and printed at once', { skip }, async () => {
  await open();
  const x = kn.array([[1, 2], [3, 4]]).to('webgpu'); // prettier-ignore
  assert.equal(x.sum().item(), 10);
  assert.deepEqual(x.mul(x).tolist(), [[1, 4], [9, 16]]); // prettier-ignore
  assert.deepEqual([...x.add(1).dataSync()], [2, 3, 4, 5]);
  assert.match(String(x), /\[3\., 4\.\]/);
  assert.equal(kn.deviceInfo('webgpu').answersAtOnce, true);
});

test('int64 is held, and indices are computed there', { skip }, async () => {
  const backend = await open();
  const x = kn.array([3, 9, 2, 7]).to('webgpu');
  assert.equal(x.argmax().item(), 1n);
  assert.deepEqual(x.argsort().tolist(), [2n, 0n, 3n, 1n]);
  const big = kn.array([2n ** 40n, -5n], { dtype: 'int64' }).to('webgpu');
  assert.deepEqual(big.mul(3).add(1).tolist(), [3n * 2n ** 40n + 1n, -14n]);
  assert.ok(backend.counts.dispatches > 0);
});

test('the data decides sizes and iterations', { skip }, async () => {
  await open();
  const x = kn.arange(8).to('webgpu');
  assert.deepEqual(kn.booleanMask(x, x.greater(4)).tolist(), [5, 6, 7]);
  const halve = (y: kn.NDArray): kn.NDArray =>
    kn.whileLoop(
      (s) => s.greater(1),
      (s) => [[], [s.div(2)]],
      [y],
      { maxIterations: 20 },
    )[1][0];
  for (const run of [halve, kn.hybridize(halve)]) {
    assert.equal(run(kn.array(40).to('webgpu')).item(), 40 / 64);
    assert.equal(run(kn.array(0.5).to('webgpu')).item(), 0.5);
  }
});

test(
  'elements larger than what is sent in one piece come back as they were',
  { skip },
  async () => {
    await open();
    const length = 2 ** 23 + 1;
    const x = kn.arange(length, { dtype: 'int32' });
    assert.deepEqual(x.to('webgpu').dataSync(), x.dataSync());
  },
);

test('an adapter of this thread is refused', async () => {
  await assert.rejects(setUpWebGpu({ worker: true, adapter: {} }), kn.UnsupportedError);
});

test('a process ends well while its worker compiles kernels', { skip }, () => {
  const library = new URL('../../../src/index.js', import.meta.url).href;
  const code = `
    import * as kn from '${library}';
    await kn.initDevice('webgpu', { worker: true });
    kn.config.device = 'webgpu';
    // As many shaders as rows: nobody waits for them.
    for (let n = 1; n <= 30; n++) kn.hybridize((x) => x.mul(n).softmax(0).sum())(kn.ones([n]));
    console.log('the end');`;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }); // prettier-ignore
  assert.deepEqual(
    { status, signal, stdout },
    { status: 0, signal: null, stdout: 'the end\n' },
    stderr,
  );
});
