import { DeviceError } from '../../base/errors.js';
import type { GpuFailure } from './commands.js';

/** The error that users are told when commands to a GPU have failed. */
export function errorOfFailure({ problem, actual }: GpuFailure): DeviceError {
  return new DeviceError(problem, {
    op: 'webgpu',
    actual,
    advice:
      'the device begins anew: load the last checkpoint, or make again what only the device had; where its memory is exhausted, set memoryBudget of initDevice',
  });
}

/** The error of whoever needs a device that is absent. */
export function errorOfAbsence(absence: DeviceError): DeviceError {
  return new DeviceError(absence.problem, {
    op: 'webgpu',
    actual: absence.actual,
    advice: `the device is set up again by itself: wait for it, await initDevice('webgpu'), and try again`,
    cause: absence,
  });
}
