import { DeviceError } from '../../base/errors.js';

/**
 * A worker has died in the middle of a run. The run has stopped, and its results are lost; it can be repeated
 * if its operands are unchanged.
 */
export class LostWorkerError extends DeviceError {
  constructor() {
    super('a worker has died in the middle of a program', { op: 'run' });
  }
}
