import { after } from 'node:test';
import { DeviceError } from '../../src/base/errors.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../src/runtime/webgpu/backend.js';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { openGpu } from '../../src/runtime/webgpu/adapter.js';
import type { GpuEncoder } from '../../src/runtime/webgpu/encoder.js';
import type { ControlDevice } from './control.js';

/** A GPU for tests, or the reason for having none. */
export async function gpuForTests(): Promise<GpuEncoder | string> {
  try {
    return await openGpu();
  } catch (error) {
    if (error instanceof DeviceError) return error.problem;
    throw error;
  }
}

/** Declares tests on a GPU that this thread commands, and on one that a worker does. */
export async function testGpus(declare: (name: string, gpu: ControlDevice) => void): Promise<void> {
  const gpu = await gpuForTests();
  const skip = typeof gpu === 'string' ? gpu : false;
  const backends: WebGpuBackend[] = [];
  for (const worker of [false, true]) {
    const backend = skip === false ? await setUpWebGpu({ worker }) : null;
    if (backend !== null) backends.push(backend);
    declare(worker ? 'a GPU in a worker' : 'a GPU of this thread', {
      name: 'webgpu',
      decides: true,
      skip,
      use: () => registerDevice(backend!),
      reads: () => backend!.counts.reads,
    });
  }
  after(() => {
    for (const backend of backends) backend.close();
    if (typeof gpu !== 'string') gpu.close();
  });
}
