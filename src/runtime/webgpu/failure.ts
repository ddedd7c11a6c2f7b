import { DeviceError } from '../../base/errors.js';
import type { GpuFailure } from './commands.js';

/** The error that users are told when commands to a GPU have failed. */
export function errorOfFailure({ problem, actual }: GpuFailure): DeviceError {
  return new DeviceError(problem, { op: 'webgpu', actual });
}
