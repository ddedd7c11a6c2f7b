import { allocate, bytesOf, copyElements, type DType, dtypes, type HostArray } from '../../src/base/dtype.js'; // prettier-ignore
import { DeviceError } from '../../src/base/errors.js';
import type { Program } from '../../src/ir/program.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Backend } from '../../src/runtime/execution/backends.js';
import type { Executable, Operand } from '../../src/runtime/execution/executable.js';
import type { BackendLimits, DeviceBuffer } from '../../src/runtime/memory/backend.js';
import { Storage } from '../../src/runtime/memory/storage.js';

/** Elements that nobody reaches but the device which has made them. */
class FakeBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  #elements: HostArray | null;

  constructor(dtype: DType, length: number) {
    this.dtype = dtype;
    this.length = length;
    this.#elements = allocate(dtype, length);
  }

  get elements(): HostArray {
    if (this.#elements === null) throw new DeviceError('a buffer was used after it was freed');
    return this.#elements;
  }

  free(): void {
    void this.elements;
    this.#elements = null;
  }
}

export interface FakeOptions {
  readonly bufferBytes?: number;
  readonly budget?: number;
}

/**
 * A second device for tests, which is as a GPU is in what matters to the rest: its memory is its own, elements are
 * read by promises only, it has neither int64 nor float64, and its buffers and all of them together are limited. It
 * computes by the kernels of the CPU, on copies.
 */
export class FakeBackend implements Backend {
  readonly name: string;
  readonly answersAtOnce = false;
  readonly limits: BackendLimits;
  readonly #budget: number;
  #bytes = 0;
  #lost = false;
  /** How many programs have run. */
  runs = 0;

  constructor(name: string, { bufferBytes = 2 ** 20, budget = 2 ** 26 }: FakeOptions = {}) {
    this.name = name;
    this.#budget = budget;
    const held = dtypes.filter((dtype) => dtype !== 'int64' && dtype !== 'float64');
    this.limits = { dtypes: new Set(held), bufferBytes };
  }

  get bytesInUse(): number {
    return this.#bytes;
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    this.#refuseDType(dtype);
    const bytes = bytesOf(dtype) * length;
    const most = Math.min(this.limits.bufferBytes, this.#budget - this.#bytes);
    if (bytes > most) {
      throw new DeviceError('the memory of the device is exhausted', {
        expected: `at most ${most} bytes`,
        actual: `${bytes} bytes`,
      });
    }
    this.#bytes += bytes;
    return new FakeBuffer(dtype, length);
  }

  free(buffer: DeviceBuffer): void {
    (buffer as FakeBuffer).free();
    this.#bytes -= bytesOf(buffer.dtype) * buffer.length;
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    copyElements((buffer as FakeBuffer).elements, elements);
  }

  read(buffer: DeviceBuffer): Promise<HostArray> {
    const elements = (buffer as FakeBuffer).elements.slice();
    // Not in the same turn of the event loop.
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (this.#lost) reject(new DeviceError('the device was lost', { op: 'read' }));
        else resolve(elements);
      });
    });
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    copyElements((to as FakeBuffer).elements, (from as FakeBuffer).elements);
  }

  synchronize(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Reads that wait for an answer are refused from here on. */
  lose(): void {
    this.#lost = true;
  }

  compile(program: Program): Executable {
    for (const dtype of dtypesOf(program)) this.#refuseDType(dtype);
    const executable = compile(program, { tier: 'wasm' });
    return {
      program,
      run: (inputs, into) => this.#run(executable, inputs, into),
      release: () => executable.release(),
      tiers: () => executable.tiers(),
      toString: () => executable.toString(),
    };
  }

  #run(
    executable: Executable,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] = [],
  ): readonly Operand[] {
    this.runs++;
    const operands = inputs.map(({ storage, shape }) => {
      const { dtype, elements } = storage.buffer as FakeBuffer;
      return { storage: new Storage(dtype, elements.slice()), shape };
    });
    return executable.run(operands).map(({ storage, shape }, k) => {
      const target = into[k] ?? null;
      if (target === null) return { storage: storage.onBackend(this), shape };
      this.write(target.buffer, storage.host);
      return { storage: target, shape };
    });
  }

  #refuseDType(dtype: DType): void {
    if (this.limits.dtypes.has(dtype)) return;
    throw new DeviceError(`the device has no ${dtype}`, {
      expected: [...this.limits.dtypes].join(', '),
      actual: dtype,
      advice: 'cast to another dtype, or compute on the CPU: await x.cpu()',
    });
  }
}

function dtypesOf(program: Program, found: Set<DType> = new Set()): Set<DType> {
  for (const { type } of program.inputs) found.add(type.dtype);
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    for (const { dtype } of node.types) found.add(dtype);
    for (const region of node.regions) dtypesOf(region, found);
  }
  return found;
}
