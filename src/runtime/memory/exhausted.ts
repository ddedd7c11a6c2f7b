import { DeviceError } from '../../base/errors.js';

/** There is no memory for what a program needs. Nothing of it has run, and nothing has been changed. */
export class ExhaustedError extends DeviceError {
  // The runtime tells it apart and tries other memory; to users it is a `DeviceError`.
  static {
    Object.defineProperty(this, 'name', { value: DeviceError.name });
  }
}

export interface ExhaustedDetails {
  /** The bytes that can be had at once, and all that there are. */
  readonly free: number;
  readonly most: number;
  readonly advice: string;
  readonly cause?: unknown;
}

export function exhausted(
  wanted: number,
  { free, most, advice, cause }: ExhaustedDetails,
): ExhaustedError {
  return new ExhaustedError('the memory of the device is exhausted', {
    expected: `at most ${free} bytes: the device has ${most} in all`,
    actual: `${wanted} more bytes`,
    advice,
    cause,
  });
}
