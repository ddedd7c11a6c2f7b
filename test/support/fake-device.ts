import { allocate, bytesOf, copyElements, type DType, dtypes, type HostArray, viewOf } from '../../src/base/dtype.js'; // prettier-ignore
import { DeviceError } from '../../src/base/errors.js';
import { type BufferArgument, memoryOf } from '../../src/loop/interpret/frame.js';
import { interpretApart } from '../../src/loop/interpret/interpret.js';
import type { Kernel } from '../../src/loop/language/nodes.js';
import { wasmTarget } from '../../src/loop/language/target.js';
import { verifyKernel } from '../../src/loop/language/verify.js';
import { rangesIn } from '../../src/loop/language/verify-ranges.js';
import { workgroupsIn } from '../../src/loop/language/verify-workgroups.js';
import { overBudget } from '../../src/runtime/memory/exhausted.js';
import { byDefinition } from '../../src/kernels/definitions.js';
import type { DeviceTarget } from '../../src/ops/declare/kernels.js';
import type {
  Backend,
  Launch,
  LaunchArgument,
  LaunchCondition,
} from '../../src/runtime/device/backend.js';
import type { BackendLimits, BufferPart, BufferRead, DeviceBuffer } from '../../src/runtime/memory/backend.js'; // prettier-ignore

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

const usual = dtypes.filter((dtype) => dtype !== 'int64' && dtype !== 'float64');

export interface FakeOptions {
  readonly bufferBytes?: number;
  readonly budget?: number;
  /** Default false: elements are promised. */
  readonly answersAtOnce?: boolean;
  /** Default: all but int64 and float64. */
  readonly dtypes?: readonly DType[];
  /** Default true: the device decides whether kernels run. */
  readonly hasConditions?: boolean;
  /** Default: a processor without kernels of its own. */
  readonly target?: DeviceTarget;
  /** Of the orders in which invocations of workgroups run. Default 0. */
  readonly seed?: number;
}

/**
 * A second device for tests, which is as a GPU is in what matters to the rest: its memory is its own, elements are
 * read by promises only, it has neither int64 nor float64, its buffers and all of them together are limited, and
 * several members of a team share the parallel ranges of a kernel. It interprets the loop IR, each buffer in a memory
 * of its own, so that nothing reaches what it was not given.
 */
export class FakeBackend implements Backend {
  readonly name: string;
  readonly answersAtOnce: boolean;
  readonly limits: BackendLimits;
  readonly #budget: number;
  readonly #seed: number;
  #bytes = 0;
  #lost = false;
  readonly target: DeviceTarget;
  readonly hasConditions: boolean;
  /** Answers that it has given or promised. */
  reads = 0;
  /** How many kernels have run, and how many of them had workgroups. */
  launches = 0;
  launchesOfWorkgroups = 0;
  /** The most bytes that were in use at any time. */
  mostBytes = 0;

  constructor(
    name: string,
    {
      bufferBytes = 2 ** 20,
      budget = 2 ** 26,
      answersAtOnce = false,
      dtypes: held = usual,
      target = byDefinition(wasmTarget),
      seed = 0,
      hasConditions = true,
    }: FakeOptions = {},
  ) {
    this.answersAtOnce = answersAtOnce;
    this.name = name;
    this.target = target;
    this.#seed = seed;
    this.hasConditions = hasConditions;
    this.#budget = budget;
    this.limits = { dtypes: new Set(held), bufferBytes, budget, alignment: 256 };
  }

  get bytesInUse(): number {
    return this.#bytes;
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    this.#refuseDType(dtype);
    const bytes = bytesOf(dtype) * length;
    if (bytes > this.limits.bufferBytes)
      throw new DeviceError('an array is too large for a buffer');
    if (bytes > this.#budget - this.#bytes) throw overBudget(bytes, this.#bytes, this.#budget);
    this.#bytes += bytes;
    this.mostBytes = Math.max(this.mostBytes, this.#bytes);
    return new FakeBuffer(dtype, length);
  }

  free(buffer: DeviceBuffer): void {
    (buffer as FakeBuffer).free();
    this.#bytes -= bytesOf(buffer.dtype) * buffer.length;
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    copyElements((buffer as FakeBuffer).elements, elements);
  }

  read(buffer: DeviceBuffer, part?: BufferPart): HostArray | Promise<HostArray> {
    this.reads++;
    const { dtype, length, offset } = part ?? { ...extentOf(buffer), offset: 0 };
    const elements = viewOf(dtype, (buffer as FakeBuffer).elements.buffer, offset, length).slice();
    if (this.answersAtOnce) return elements;
    // Not in the same turn of the event loop.
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (this.#lost) reject(new DeviceError('the device was lost', { op: 'read' }));
        else resolve(elements);
      });
    });
  }

  /** One answer for all. */
  readAll(reads: readonly BufferRead[]): readonly HostArray[] | Promise<readonly HostArray[]> {
    const before = this.reads;
    const answers = reads.map(({ buffer, part }) => this.read(buffer, part));
    this.reads = before + 1;
    // They are promises where it answers later.
    return this.answersAtOnce ? (answers as HostArray[]) : Promise.all(answers);
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

  prepare(kernel: Kernel): Launch {
    verifyKernel(kernel);
    const hasWorkgroups = workgroupsIn(kernel.body).length > 0;
    const members = hasWorkgroups || rangesIn(kernel.body).length > 0 ? 2 : 1;
    return (args, condition) => {
      if (condition !== undefined && !holds(condition)) return;
      this.launches++;
      this.launchesOfWorkgroups += Number(hasWorkgroups);
      // In the order in which nobody counts on them to run.
      for (let index = members - 1; index >= 0; index--) {
        interpretApart(kernel, args.map(argumentOf), {
          index,
          count: members,
          seed: this.#seed + index,
        });
      }
    };
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

function holds({ buffer, offset }: LaunchCondition): boolean {
  return new Int32Array((buffer as FakeBuffer).elements.buffer, offset, 1)[0] !== 0;
}

function extentOf({ dtype, length }: DeviceBuffer): Pick<BufferPart, 'dtype' | 'length'> {
  return { dtype, length };
}

function argumentOf(arg: LaunchArgument): number | BufferArgument {
  if (typeof arg === 'number') return arg;
  if ('buffer' in arg) {
    return { memory: memoryOf((arg.buffer as FakeBuffer).elements.buffer), address: arg.offset };
  }
  // Each member has its own.
  return { memory: memoryOf(new ArrayBuffer(arg.privateBytes)), address: 0 };
}
