import { DeviceError } from '../../base/errors.js';

/**
 * A worker has died in the middle of a run. Nothing of the run goes on, and what it should have computed is
 * lost; it can be done again where its operands are what they were.
 */
export class LostWorkerError extends DeviceError {
  constructor() {
    super('a worker has died in the middle of a program', { op: 'run' });
  }
}
