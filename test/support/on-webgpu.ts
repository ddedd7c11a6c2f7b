import { dtypes } from '../../src/base/dtype.js';
import { config, DeviceError } from '../../src/index.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';

/*
 * Loaded before tests, puts every new array of theirs on a GPU in a worker, so that code which reads elements right
 * away runs as it is. It holds float64 too, which tests are full of; new memory is full of garbage. Run by itself, says why there is no GPU.
 */

try {
  registerDevice(await setUpWebGpu({ worker: true, dtypes, fillsMemory: true }));
  config.device = 'webgpu';
} catch (error) {
  if (!(error instanceof DeviceError)) throw error;
  console.error(error.problem);
  process.exit(1);
}
