import { UnsupportedError } from '../../base/errors.js';
import { shaderOf } from '../../codegen/wgsl/index.js';
import { gpuTarget } from '../../kernels/gpu/index.js';
import { openGpu } from './adapter.js';
import { WebGpuBackend } from './backend.js';

/** Options of `initDevice('webgpu')`. */
export interface WebGpuSetup {
  readonly memoryBudget?: number;
  readonly worker?: boolean;
  readonly adapter?: unknown;
}

/**
 * Sets up a GPU as a device.
 * @throws DeviceError when there is none, which says what is missing.
 */
export async function setUpWebGpu(options: WebGpuSetup = {}): Promise<WebGpuBackend> {
  const { memoryBudget, worker, adapter } = options;
  if (worker === true) {
    throw new UnsupportedError('WebGPU does not run in a worker yet', {
      op: 'initDevice',
      expected: 'worker: false',
      advice: 'read elements by await x.cpu() or await x.data()',
    });
  }
  // Users need no types of WebGPU to pass on what `requestAdapter` gave them.
  const given = adapter as GPUAdapter | undefined;
  return new WebGpuBackend(await openGpu(given), {
    target: gpuTarget,
    print: shaderOf,
    ...(memoryBudget !== undefined && { memoryBudget }),
    // An adapter gives one device; another one comes from the engine.
    reopen: () => openGpu(),
  });
}
