import type { DType, HostArray } from '../../src/base/dtype.js';
import type { Shader } from '../../src/codegen/wgsl/shader.js'; // prettier-ignore
import { shaderOf } from '../../src/codegen/wgsl/index.js';
import { memoryOf } from '../../src/loop/interpret/frame.js';
import { interpretApart } from '../../src/loop/interpret/interpret.js';
import { storageBytes } from '../../src/loop/language/build.js';
import type { Buffer, ElementKind, Kernel } from '../../src/loop/language/nodes.js';
import { wasmTarget } from '../../src/loop/language/target.js';
import { byDefinition } from '../../src/kernels/definitions.js';
import { WebGpuBackend } from '../../src/runtime/webgpu/backend.js';
import type { GpuEncoder } from '../../src/runtime/webgpu/encoder.js';

/** Dtypes of arrays that hold elements of a kind; those of 64 bits travel as pairs of int32. */
const dtypeOf: Readonly<Record<ElementKind, DType>> = {
  f32: 'float32',
  f64: 'int32',
  i32: 'int32',
  i64: 'int32',
  i8: 'int8',
  u8: 'uint8',
  u16: 'bfloat16',
};

/** An argument of a kernel: a number, elements, or a number of bytes of each member's own. */
export type KernelInput = number | HostArray | { readonly privateBytes: number };

const isArray = (arg: KernelInput): arg is HostArray =>
  typeof arg === 'object' && !('privateBytes' in arg);

/** What a kernel leaves in its arrays by the definition of the loop IR, run by one thread. */
export function interpreted(kernel: Kernel, args: readonly KernelInput[]): readonly HostArray[] {
  const results: HostArray[] = [];
  const given = args.map((arg) => {
    if (typeof arg === 'number') return arg;
    if (!isArray(arg)) return { memory: memoryOf(new ArrayBuffer(arg.privateBytes)), address: 0 };
    const copy = arg.slice();
    results.push(copy);
    return { memory: memoryOf(copy.buffer), address: 0 };
  });
  interpretApart(kernel, given);
  return results;
}

/** Runs kernels as shaders. A GPU serves one of these. */
export class KernelsOnGpu {
  /** The most workgroups of a dispatch. */
  mostGroups: number = Infinity;
  /** Elements in front of those of each array in its memory. */
  offset: number = 0;
  readonly #backend: WebGpuBackend;

  constructor(gpu: GpuEncoder) {
    const print = (...of: Parameters<typeof shaderOf>): Shader => {
      const shader = shaderOf(...of);
      const workgroups: Shader['workgroups'] = (numbers, most) =>
        shader.workgroups(numbers, Math.min(most, this.mostGroups));
      return { ...shader, workgroups };
    };
    const refuse = (): never => {
      throw new Error('the GPU was lost');
    };
    const options = { target: byDefinition(wasmTarget), print, reopen: refuse };
    this.#backend = new WebGpuBackend(gpu, options);
  }

  /** What a kernel leaves in its arrays. */
  async run(kernel: Kernel, args: readonly KernelInput[]): Promise<readonly HostArray[]> {
    const backend = this.#backend;
    const arrays: { readonly buffer: ReturnType<WebGpuBackend['allocate']>; readonly of: HostArray }[] = []; // prettier-ignore
    const given = args.map((arg, k) => {
      if (!isArray(arg)) return arg;
      const { storage } = kernel.params[k] as Buffer;
      const bytes = arg.byteLength;
      const dtype = dtypeOf[storage];
      const isWide = storageBytes(storage) === 8;
      const words = bytes / Math.min(storageBytes(storage), 4);
      if (this.offset === 0) {
        const buffer = backend.allocate(dtype, words);
        backend.write(buffer, isWide ? new Int32Array(arg.buffer) : arg);
        arrays.push({ buffer, of: arg });
        return { buffer, offset: 0 };
      }
      const buffer = backend.allocate(dtype, words + this.offset);
      const moved = new (arg.constructor as Int32ArrayConstructor)(words + this.offset);
      moved.set(arg as Int32Array, this.offset);
      backend.write(buffer, moved);
      arrays.push({ buffer, of: arg });
      return { buffer, offset: this.offset * storageBytes(storage) };
    });
    backend.prepare(kernel)(given);
    const results: HostArray[] = [];
    for (const { buffer, of } of arrays) {
      const found = await backend.read(buffer);
      const same = Object.getPrototypeOf(of) as { constructor: new (bytes: ArrayBufferLike) => HostArray }; // prettier-ignore
      results.push(new same.constructor(found.buffer.slice(this.offset * found.BYTES_PER_ELEMENT)));
    }
    for (const { buffer } of arrays) backend.free(buffer);
    return results;
  }
}
