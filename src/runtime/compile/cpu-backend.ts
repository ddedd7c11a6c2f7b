import {
  bytesOf, copyElements, type DType, dtypes, type HostArray, allocate,
} from '../../base/dtype.js'; // prettier-ignore
import { InternalError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { Backend } from '../execution/backends.js';
import type { Executable } from '../execution/executable.js';
import type { BackendLimits, DeviceBuffer } from '../memory/backend.js';
import type { Device } from '../memory/device.js';
import { compile } from './compile.js';

/** WebAssembly's memory can name no more, and buffers are not divided. */
const mostBytes = 2 ** 32;

/** A region of a CPU device's memory. */
class CpuBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  /** -1 once it has been freed. */
  address: number;

  constructor(dtype: DType, length: number, address: number) {
    this.dtype = dtype;
    this.length = length;
    this.address = address;
  }
}

/**
 * The CPU as a device like others: what a `Device` does, by the names that every device has. Arrays on the CPU take
 * shorter ways (`Storage`), so this is for what works on any device.
 */
export class CpuBackend implements Backend {
  readonly name = 'cpu';
  readonly answersAtOnce = true;
  readonly limits: BackendLimits = { dtypes: new Set(dtypes), bufferBytes: mostBytes };
  readonly #device: Device;
  #bytes = 0;

  constructor(device: Device) {
    this.#device = device;
  }

  get bytesInUse(): number {
    return this.#bytes;
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    const bytes = bytesOf(dtype) * length;
    const buffer = new CpuBuffer(dtype, length, this.#device.takePinned(bytes));
    this.#bytes += bytes;
    return buffer;
  }

  free(buffer: DeviceBuffer): void {
    const own = owned(buffer);
    this.#device.release(own.address);
    own.address = -1;
    this.#bytes -= bytesOf(own.dtype) * own.length;
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    copyElements(this.#view(buffer), elements);
  }

  read(buffer: DeviceBuffer): HostArray {
    const copy = allocate(buffer.dtype, buffer.length);
    copyElements(copy, this.#view(buffer));
    return copy;
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    copyElements(this.#view(to), this.#view(from));
  }

  /** Everything is done at once. */
  async synchronize(): Promise<void> {}

  compile(program: Program): Executable {
    return compile(program, { device: this.#device });
  }

  #view(buffer: DeviceBuffer): HostArray {
    const { dtype, length, address } = owned(buffer);
    return this.#device.view(dtype, address, length);
  }
}

function owned(buffer: DeviceBuffer): CpuBuffer {
  if (buffer instanceof CpuBuffer && buffer.address >= 0) return buffer;
  throw new InternalError('this is no buffer of the CPU, or it has been freed');
}
