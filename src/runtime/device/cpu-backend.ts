import { bytesOf, copyElements, copyOfElements, type DType, dtypes, type HostArray } from "../../base/dtype.js"; // prettier-ignore
import { InternalError } from '../../base/errors.js';
import { compileModule, type WasmKernel } from '../../codegen/wasm/index.js';
import { onCpu } from '../../kernels/cpu/index.js';
import { i32, moduleOf } from '../../loop/language/build.js';
import type { Kernel } from '../../loop/language/nodes.js';
import { wasmTarget } from '../../loop/language/target.js';
import { divide } from '../../loop/optimize/divide.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import type { BackendLimits, BufferPart, DeviceBuffer } from '../memory/backend.js';
import type { Device } from '../memory/device.js';
import { alignment } from '../../passes/plan/memory.js';
import type { Backend, Launch } from './backend.js';

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
  readonly target: DeviceTarget = onCpu(wasmTarget);
  readonly limits: BackendLimits = { dtypes: new Set(dtypes), bufferBytes: mostBytes, alignment };
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

  read(buffer: DeviceBuffer, part?: BufferPart): HostArray {
    const { dtype, length, offset } = part ?? { ...owned(buffer), offset: 0 };
    return copyOfElements(dtype, this.#device.view(dtype, owned(buffer).address + offset, length));
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    copyElements(this.#view(to), this.#view(from));
  }

  /** Everything is done at once. */
  async synchronize(): Promise<void> {}

  /** WebAssembly of the one kernel. */
  prepare(kernel: Kernel): Launch {
    const { memory, isShared } = this.#device;
    // One thread does all of each parallel range.
    const body = divide(kernel.body, { index: i32(0), count: i32(1) });
    const whole = { ...kernel, body };
    const optimized = optimizeModule(moduleOf([whole]), this.target);
    const compiled = compileModule(optimized, { shared: isShared });
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    const run = exports[kernel.name] as WasmKernel;
    return (args) => {
      const lent: number[] = [];
      const values = args.map((arg): number => {
        if (typeof arg === 'number') return arg;
        if ('buffer' in arg) return owned(arg.buffer).address + arg.offset;
        const address = this.#device.take(arg.privateBytes);
        lent.push(address);
        return address;
      });
      run(...values);
      for (const address of lent) this.#device.release(address);
    };
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
