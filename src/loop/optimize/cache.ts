import { BoundedCache } from '../../base/bounded-cache.js';
import type { Kernel } from '../language/nodes.js';
import { optimize } from './optimize.js';
import { structureOf } from '../analysis/structure.js';
import type { VectorOptions } from './vectorize.js';

/** About a megabyte of text, and about ten times as much in optimized kernels. */
const defaultCapacity = 2 ** 20;

/**
 * Optimized kernels by structure, so that each structure is optimized once: the same operator on other
 * arrays, the steps of an unrolled loop, the layers of a network, a program that is traced again. A kernel
 * that differs from a known one in names only gets that one, with its names. Least recently used ones are
 * evicted when the structures together exceed `capacity` characters. Kernels that call others are not cached,
 * since they would retain those.
 */
export class KernelCache {
  readonly #kernels: BoundedCache<string, Kernel>;

  constructor(capacity: number = defaultCapacity) {
    this.#kernels = new BoundedCache({ capacity, cost: (structure) => structure.length });
  }

  get size(): number {
    return this.#kernels.size;
  }

  /** The optimized kernel; what it calls must be optimized already. */
  optimize(kernel: Kernel, options: VectorOptions): Kernel {
    const structure = structureOf(kernel);
    if (structure === null) return optimize(kernel, options);
    const key = `${options.vectorBytes} ${structure}`;
    let optimized = this.#kernels.get(key);
    if (optimized === undefined) {
      optimized = optimize(kernel, options);
      this.#kernels.set(key, optimized);
    }
    return optimized;
  }

  clear(): void {
    this.#kernels.clear();
  }
}
