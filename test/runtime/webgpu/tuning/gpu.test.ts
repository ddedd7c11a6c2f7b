import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { registerDevice } from '../../../../src/runtime/device/register.js';
import { openGpu } from '../../../../src/runtime/webgpu/adapter.js';
import type { WebGpuBackend } from '../../../../src/runtime/webgpu/backend.js';
import type { PipelineDescription } from '../../../../src/runtime/webgpu/commands.js';
import { GpuWorker } from '../../../../src/runtime/webgpu/remote.js';
import { setUpWebGpu } from '../../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../../support/webgpu.js';

/* In a process of its own: it says where choices are stored by a variable of the process. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const folder = mkdtempSync(join(tmpdir(), 'kaon-tuning-'));
const file = join(folder, 'kaon-tuning.json');
const before = process.env['KAON_CACHE'];
process.env['KAON_CACHE'] = folder;
const opened: WebGpuBackend[] = [];

after(() => {
  if (before === undefined) delete process.env['KAON_CACHE'];
  else process.env['KAON_CACHE'] = before;
  rmSync(folder, { recursive: true });
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

type Setup = NonNullable<Parameters<typeof setUpWebGpu>[0]>;

async function open(setup: Setup): Promise<WebGpuBackend> {
  const backend = await setUpWebGpu(setup);
  registerDevice(backend);
  opened.push(backend);
  return backend;
}

const [x, y] = [kn.arange(48 * 40), kn.arange(40 * 36)].map((each) => each.mod(5).sub(2));
const operands = [x.reshape([48, 40]), y.reshape([40, 36])];

/** The product of the operands, newly planned. */
async function product(): Promise<readonly number[]> {
  const [a, b] = operands.map((each) => each.to('webgpu'));
  const f = kn.hybridize((left: kn.NDArray, right: kn.NDArray) => left.matmul(right));
  return [...((await f(a, b).data()) as Float32Array)];
}

const expected = [...(operands[0].matmul(operands[1]).dataSync() as Float32Array)];

for (const worker of [false, true]) {
  test(`products are measured on a GPU ${worker ? 'in a worker' : 'of this thread'}, and what is chosen is stored`, { skip }, async () => {
    rmSync(file, { force: true });
    const backend = await open({ worker, tuning: 'background' });
    assert.deepEqual(await product(), expected);
    const tuning = await kn.deviceTuning('webgpu');
    const [[adapter, choices]] = Object.entries(tuning);
    assert.equal(adapter, backend.adapter);
    assert.ok(adapter.length > 0);
    assert.deepEqual(Object.keys(choices), ['matmul tile 1x64x64x64 float32,float32 rows rows whole whole']);
    assert.match(Object.values(choices)[0], /^\d+x\d+x\d+ by \dx\d$/);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), tuning);
    // The chosen kernel computes the same, and nothing is measured again.
    assert.deepEqual(await product(), expected);
    const { dispatches } = backend;
    assert.deepEqual(await kn.deviceTuning('webgpu'), tuning);
    assert.equal(backend.dispatches, dispatches);
    assert.equal(kn.deviceInfo('webgpu').bytesSpilled, 0);

    // A process that begins later has the choice at once.
    const later = await open({ worker, tuning: 'background' });
    assert.deepEqual(await product(), expected);
    assert.deepEqual(await kn.deviceTuning('webgpu'), tuning);
    assert.equal(later.dispatches, 1);
  });
} // prettier-ignore

test('choices that are given are all that is used', { skip }, async () => {
  const { adapter } = opened[0];
  const key = 'matmul tile 1x64x64x64 float32,float32 rows rows whole whole';
  const given = { [adapter]: { [key]: '64x64x16 by 4x4' }, 'another adapter': { [key]: 'x' } };
  writeFileSync(file, JSON.stringify({ [adapter]: { [key]: '32x64x16 by 2x4' } }));
  const backend = await open({ tuning: given });
  assert.deepEqual(await product(), expected);
  assert.deepEqual(await kn.deviceTuning('webgpu'), { [adapter]: given[adapter] });
  assert.equal(backend.dispatches, 1);
});

test('kernels are not measured unless asked', { skip }, async () => {
  const backend = await open({});
  assert.deepEqual(await product(), expected);
  await assert.rejects(kn.deviceTuning('webgpu'), {
    name: 'DeviceError',
    message: /the kernels of this device are not measured/,
  });
  assert.equal(backend.dispatches, 1);
});

test('a kernel that a GPU refuses does no harm', { skip }, async () => {
  const right = '@compute @workgroup_size(1) fn main() {}';
  const describe = (text: string): PipelineDescription => ({ label: 'tried', text, bindings: [], uniformWords: 4 }); // prettier-ignore
  for (const commands of [await openGpu(), await GpuWorker.open()]) {
    try {
      assert.equal(await commands.accepts(describe('fn main(')), false);
      assert.equal(await commands.accepts(describe(right.replace('main', 'other'))), false);
      assert.equal(await commands.accepts(describe(right)), true);
      await commands.synchronize();
    } finally {
      commands.close();
    }
  }
});
