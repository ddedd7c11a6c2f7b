import type { DType, HostArray } from '../../base/dtype.js';

/** Memory of a device: nobody but the backend that gave it knows where it is. */
export interface DeviceBuffer {
  readonly dtype: DType;
  /** In elements. */
  readonly length: number;
}

/** What a device can hold. */
export interface BackendLimits {
  readonly dtypes: ReadonlySet<DType>;
  /** The most bytes that one buffer may have. */
  readonly bufferBytes: number;
}

/** The memory of a device, as buffers. What it refuses is a `DeviceError`, and nothing is changed then. */
export interface BufferBackend {
  /** What users call the device. */
  readonly name: string;
  readonly limits: BackendLimits;
  /** Whether `read` gives elements at once rather than a promise of them. */
  readonly answersAtOnce: boolean;
  /** The bytes of all buffers that have not been freed. */
  readonly bytesInUse: number;
  /** A new buffer, with anything in it. */
  allocate(dtype: DType, length: number): DeviceBuffer;
  free(buffer: DeviceBuffer): void;
  /** Copies all elements into a buffer. */
  write(buffer: DeviceBuffer, elements: HostArray): void;
  /** A copy of all elements. Rejects when the device is lost before it has answered. */
  read(buffer: DeviceBuffer): HostArray | Promise<HostArray>;
  /** Copies all elements of one buffer into another of the same dtype and length. */
  copy(from: DeviceBuffer, to: DeviceBuffer): void;
  /** Settled when everything that was asked for so far is done. Rejects with what went wrong since the last time. */
  synchronize(): Promise<void>;
}
