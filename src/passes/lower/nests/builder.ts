import type { Dim } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import * as e from '../../../loop/language/build.js';
import type { SizeChoices } from '../../../loop/language/choices.js';
import type { Buffer, Expr, Kernel, Stmt, Var } from '../../../loop/language/nodes.js';
import { divide } from '../../../loop/optimize/divide.js';
import type { PackedAllocator, PackedSize } from '../../../ops/declare/lowering.js';
import { storageOf } from '../../../ops/elements.js';
import { ExtentParameters } from '../../../loop/language/extents.js';
import type { PackedLifetime } from './steady.js';

/** Arguments of a kernel, in the order of its parameters. */
export type KernelArgument =
  | { readonly kind: 'place'; readonly place: number }
  | { readonly kind: 'size'; readonly dim: Dim }
  | ScratchArgument
  | PackedArgument
  /** The state of kept data. */
  | { readonly kind: 'state' }
  /** The number of the calling thread, and the number of threads. */
  | { readonly kind: 'thread' }
  | { readonly kind: 'threads' };

/** Memory for the duration of the kernel. */
export interface ScratchArgument {
  readonly kind: 'scratch';
  readonly name: string;
  readonly dtype: DType;
  readonly length: Dim;
}

/** Memory for as long as the operand that data is derived from stays the same. */
export interface PackedArgument {
  readonly kind: 'kept';
  readonly name: string;
  readonly dtype: DType;
  readonly room: PackedSize;
  readonly steady: PackedLifetime;
}

export interface LoweredKernel {
  readonly kernel: Kernel;
  readonly args: readonly KernelArgument[];
  /**
   * For a kernel that several threads call, each for its share of the results: the work in units that are
   * worth a thread. Null where the first thread does everything.
   */
  readonly grains: Dim | null;
}

/** Collects the parameters of one kernel while its body is built. */
export class KernelBuilder {
  readonly extents: ExtentParameters;
  readonly #buffers: Map<number, Buffer> = new Map();
  readonly #params: { readonly param: Buffer; readonly argument: KernelArgument }[] = [];
  #keptState: Var | null = null;

  /** @param choices Records what is chosen by the numbers of symbols; null where these have none. */
  constructor(choices: SizeChoices | null = null) {
    this.extents = new ExtentParameters(choices);
  }

  /** The buffer parameter for a location; the same object each time, so that kernels see aliases. */
  buffer(place: number, name: string, dtype: DType): Buffer {
    let known = this.#buffers.get(place);
    if (known === undefined) {
      known = e.buffer(name, storageOf(dtype));
      this.#buffers.set(place, known);
      this.#params.push({ param: known, argument: { kind: 'place', place } });
    }
    return known;
  }

  scratch(name: string, dtype: DType, length: Expr): Buffer {
    const dim = this.extents.dim(length);
    if (dim === undefined) {
      throw new InternalError(`the length of scratch ${name} is not a function of sizes`);
    }
    const param = e.buffer(name, storageOf(dtype), { isPrivate: true });
    this.#params.push({ param, argument: { kind: 'scratch', name, dtype, length: dim } });
    return param;
  }

  /** Keeps data for as long as its operand stays the same. */
  keeper(steady: PackedLifetime): PackedAllocator {
    const isCertain = steady.kind === 'loop';
    return {
      isCertain,
      keep: (name, dtype, room) => {
        if (this.#keptState !== null) throw new InternalError('a kernel keeps one thing at most');
        const param = e.buffer(name, storageOf(dtype));
        this.#params.push({ param, argument: { kind: 'kept', name, dtype, room, steady } });
        this.#keptState = e.variable('state', 'i32');
        return { buffer: param, state: this.#keptState, isCertain };
      },
    };
  }

  /** The kernel of a body, which may have parallel ranges. */
  finish(name: string, body: Stmt): LoweredKernel {
    const params: (Buffer | Var)[] = this.#params.map(({ param }) => param);
    const args = this.#params.map(({ argument }) => argument);
    for (const { dim, param } of this.extents.params) {
      params.push(param);
      args.push({ kind: 'size', dim });
    }
    if (this.#keptState !== null) {
      params.push(this.#keptState);
      args.push({ kind: 'state' });
    }
    return { kernel: e.kernel(name, params, body), args, grains: null };
  }
}

/** The kernel for threads that all call it, each for its share of the parallel ranges; `grains` as in `LoweredKernel`. */
export function amongThreads({ kernel, args }: LoweredKernel, grains: Dim): LoweredKernel {
  const [index, count] = ['thread', 'threads'].map((name) => e.variable(name, 'i32'));
  const params = [...kernel.params, index, count];
  return {
    kernel: e.kernel(kernel.name, params, divide(kernel.body, { index, count })),
    args: [...args, { kind: 'thread' }, { kind: 'threads' }],
    grains,
  };
}
