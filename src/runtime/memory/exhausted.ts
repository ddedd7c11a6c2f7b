import { DeviceError, type ErrorDetails } from '../../base/errors.js';

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

/** A buffer does not fit into what is left of a device's memory: other arrays may have to go to the host. */
export class OverBudgetError extends DeviceError {
  /** Bytes that were to be taken. */
  readonly wanted: number;

  static {
    Object.defineProperty(this, 'name', { value: DeviceError.name });
  }

  // Like those of all errors, so that it can be made again with the context of an outer call, as its cause.
  constructor(problem: string, details: ErrorDetails & { readonly wanted?: number }) {
    super(problem, details);
    const { wanted, cause } = details;
    this.wanted = wanted ?? (cause instanceof OverBudgetError ? cause.wanted : 0);
  }
}

/** Error about a buffer that does not fit. @param used Bytes in use. @param most Bytes that there are in all. */
export function overBudget(wanted: number, used: number, most: number): OverBudgetError {
  return new OverBudgetError('the memory of the device is exhausted', {
    op: 'allocate',
    expected: `at most ${most} bytes in use`,
    actual: `${wanted} bytes beside ${used}`,
    advice:
      'compute with smaller arrays, or give the device more memory: memoryBudget of initDevice',
    wanted,
  });
}
