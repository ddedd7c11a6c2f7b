import type { DType, HostArray } from '../../base/dtype.js';

/** Memory of a device: nobody but the backend that gave it knows where it is. */
export interface DeviceBuffer {
  readonly dtype: DType;
  /** In elements. */
  readonly length: number;
}

/** Elements in a buffer of any dtype. */
export interface BufferPart {
  readonly dtype: DType;
  /** In elements. */
  readonly length: number;
  /** Bytes that come before them. */
  readonly offset: number;
}

/** Elements to be read: those of a buffer, or of a part of it. */
export interface BufferRead {
  readonly buffer: DeviceBuffer;
  readonly part?: BufferPart | undefined;
}

/** Limits of a device. */
export interface BackendLimits {
  readonly dtypes: ReadonlySet<DType>;
  /** The most bytes that one buffer may have. */
  readonly bufferBytes: number;
  /** The most bytes of all buffers; not there where nobody knows. */
  readonly budget?: number;
  /** Arrays that share a buffer begin at multiples of so many bytes. */
  readonly alignment: number;
}

/** The memory of a device, as buffers. What it refuses is a `DeviceError`, and nothing is changed then. */
export interface BufferBackend {
  /** Name of the device for users. */
  readonly name: string;
  readonly limits: BackendLimits;
  /** True if `read` gives elements at once rather than a promise of them. */
  readonly answersAtOnce: boolean;
  /** The bytes of all buffers that have not been freed. */
  readonly bytesInUse: number;
  /** The bytes of arrays that have left it for the host, since there was no room. Default: none ever do. */
  readonly bytesSpilled?: number;
  /** Number of times that the device was lost: buffers from before have no elements. Default: never. */
  readonly losses?: number;
  /** A new buffer, with anything in it. */
  allocate(dtype: DType, length: number): DeviceBuffer;
  free(buffer: DeviceBuffer): void;
  /** Copies all elements into a buffer. */
  write(buffer: DeviceBuffer, elements: HostArray): void;
  /**
   * A copy of all elements, or of a part, as they are once everything that was asked for before is done.
   * Rejects when the device is lost before it has answered.
   */
  read(buffer: DeviceBuffer, part?: BufferPart): HostArray | Promise<HostArray>;
  /** Like `read` for several buffers, answered together. Default: one after the other. */
  readAll?(reads: readonly BufferRead[]): readonly HostArray[] | Promise<readonly HostArray[]>;
  /** A copy of all elements where they are known without waiting; null where they are not. */
  readNow?(buffer: DeviceBuffer): HostArray | null;
  /** Copies all elements of one buffer into another of the same dtype and length. */
  copy(from: DeviceBuffer, to: DeviceBuffer): void;
  /**
   * Settled when everything that was asked for so far is done. Rejects with what went wrong since the last
   * time.
   */
  synchronize(): Promise<void>;
}
