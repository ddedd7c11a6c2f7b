import { bytesOf, type DType, type HostArray } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type { DeviceBuffer } from '../../memory/backend.js';
import type { Outcome } from './outcomes.js';

/**
 * Elements of an array of a device: in memory of the device, on the host, or in both. The host has those of dtypes that
 * the device lacks, the few that it remembers, and those that have made room on the device for others.
 */
export class ManagedBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  /** Null while only the host has the elements, and until there are any. */
  memory: DeviceBuffer | null = null;
  /** Number of times that the device had been lost when the elements were written there. */
  losses = 0;
  /** Elements on the host, which must not be written to. */
  host: HostArray | null = null;
  /** Outcome of the run that has made the elements, while it is not known or where it has failed. */
  outcome: Outcome | null = null;
  /** Number of pieces of work that are still to be done and need it. */
  users = 0;
  /** True once nobody holds the array any more. */
  isFreed = false;
  /** True if somebody else holds the elements on the host anyway, so that they stay there. */
  isBacked = false;
  /** True if the elements have left the device to make room. */
  isSpilled = false;

  constructor(dtype: DType, length: number) {
    this.dtype = dtype;
    this.length = length;
  }

  /** True if nobody will ever read the elements. */
  get isUnused(): boolean {
    return this.isFreed && this.users === 0;
  }

  get bytes(): number {
    return bytesOf(this.dtype) * this.length;
  }
}

/** A buffer of a queue as what it is. */
export function managed(buffer: DeviceBuffer): ManagedBuffer {
  if (buffer instanceof ManagedBuffer) return buffer;
  throw new InternalError('this buffer is not one of a queue');
}
