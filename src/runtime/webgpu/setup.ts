import type { DType } from '../../base/dtype.js';
import { UnsupportedError } from '../../base/errors.js';
import { warn } from '../execution/warning.js';
import { shaderOf } from '../../codegen/wgsl/index.js';
import { gpuTarget } from '../../kernels/gpu/index.js';
import type { DeviceTuning } from '../execution/device-tuning.js';
import { openGpu } from './adapter.js';
import { WebGpuBackend } from './backend.js';
import type { GpuCommands } from './commands.js';
import { GpuWorker } from './remote.js';
import { platformStore, TuningStore } from './tuning/store.js';
import type { TunerOptions } from './tuning/tuner.js';

/** Options of `initDevice('webgpu')`. */
export interface WebGpuSetup {
  readonly memoryBudget?: number;
  readonly worker?: boolean;
  readonly adapter?: unknown;
  /** See `InitDeviceOptions`. Default `off`. */
  readonly tuning?: 'off' | 'background' | DeviceTuning;
  /** Dtypes of arrays that the device holds, for tests. Default: see `WebGpuOptions`. */
  readonly dtypes?: readonly DType[];
  /** For tests, see `WebGpuOptions`. */
  readonly fillsMemory?: boolean;
}

/**
 * Sets up a GPU as a device.
 * @throws DeviceError when there is none, which says what is missing.
 */
export async function setUpWebGpu(options: WebGpuSetup = {}): Promise<WebGpuBackend> {
  const { memoryBudget, worker, adapter, dtypes, fillsMemory, tuning = 'off' } = options;
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
  const backend = new WebGpuBackend(given === undefined ? await reopen() : await openGpu(given), {
    target: gpuTarget,
    print: shaderOf,
    ...(memoryBudget !== undefined && { memoryBudget }),
    ...(dtypes !== undefined && { dtypes }),
    ...(fillsMemory !== undefined && { fillsMemory }),
    reopen,
  });
  if (tuning !== 'off') backend.tune(await tunerFor(tuning));
  return backend;
}

/** Options of a tuner that keeps to what is given, or else to what is stored, which it adds to. */
async function tunerFor(tuning: 'background' | DeviceTuning): Promise<TunerOptions> {
  const tell = (problem: string): void => warn(problem, 'KAON_TUNING');
  if (tuning !== 'background') return { known: tuning, limits: { all: 0 }, warn: tell };
  const texts = await platformStore();
  const store = texts === null ? null : new TuningStore(texts, tell);
  return { ...(store !== null && { known: store.load(), store }), warn: tell };
}
