import type { DType } from '../../base/dtype.js';
import { UnsupportedError } from '../../base/errors.js';
import { shaderOf } from '../../codegen/wgsl/index.js';
import { gpuTarget } from '../../kernels/gpu/index.js';
import { openGpu } from './adapter.js';
import { WebGpuBackend } from './backend.js';
import type { GpuCommands } from './commands.js';
import { GpuWorker } from './remote.js';

/** Options of `initDevice('webgpu')`. */
export interface WebGpuSetup {
  readonly memoryBudget?: number;
  readonly worker?: boolean;
  readonly adapter?: unknown;
  /** Dtypes of arrays that the device holds, for tests. Default: see `WebGpuOptions`. */
  readonly dtypes?: readonly DType[];
}

/**
 * Sets up a GPU as a device.
 * @throws DeviceError when there is none, which says what is missing.
 */
export async function setUpWebGpu(options: WebGpuSetup = {}): Promise<WebGpuBackend> {
  const { memoryBudget, worker, adapter, dtypes } = options;
  if (worker === true && adapter !== undefined) {
    throw new UnsupportedError('adapters cannot be given to workers', {
      op: 'initDevice',
      expected: 'worker or adapter',
      advice: 'leave out adapter: the worker takes the one for high performance',
    });
  }
  // An adapter gives one device; another one comes from the engine.
  const reopen = (): Promise<GpuCommands> => (worker === true ? GpuWorker.open() : openGpu());
  // Users need no types of WebGPU to pass on what `requestAdapter` gave them.
  const given = adapter as GPUAdapter | undefined;
  return new WebGpuBackend(given === undefined ? await reopen() : await openGpu(given), {
    target: gpuTarget,
    print: shaderOf,
    ...(memoryBudget !== undefined && { memoryBudget }),
    ...(dtypes !== undefined && { dtypes }),
    reopen,
  });
}
