import { DeviceError } from '../../src/base/errors.js';
import { openGpu } from '../../src/runtime/webgpu/adapter.js';
import type { GpuEncoder } from '../../src/runtime/webgpu/encoder.js';

/** A GPU for tests, or the reason for having none. */
export async function gpuForTests(): Promise<GpuEncoder | string> {
  try {
    return await openGpu();
  } catch (error) {
    if (error instanceof DeviceError) return error.problem;
    throw error;
  }
}
