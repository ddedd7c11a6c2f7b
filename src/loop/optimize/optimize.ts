import type { Kernel } from '../language/nodes.js';
import { share } from './share.js';
import { simplifyKernel } from './simplify.js';
import { unroll } from './unroll.js';
import { vectorize, type VectorOptions } from './vectorize.js';

export interface KernelPass {
  readonly name: string;
  /** Returns the kernel itself when nothing changes. */
  readonly run: (kernel: Kernel, options: VectorOptions) => Kernel;
  /** Runs only if the pass before it changed something. */
  readonly afterChange?: boolean;
}

/** The passes over one kernel, in order. */
export const kernelPasses: readonly KernelPass[] = [
  { name: 'unroll', run: unroll },
  { name: 'simplify', run: simplifyKernel },
  { name: 'vectorize', run: vectorize },
  { name: 'simplify again', run: simplifyKernel, afterChange: true },
  { name: 'share', run: share },
];

/** Optimizes a kernel for the printers: unrolled, vectorized, simplified, without common subexpressions. */
export function optimize(kernel: Kernel, options: VectorOptions): Kernel {
  let current = kernel;
  let changed = true;
  for (const { run, afterChange = false } of kernelPasses) {
    if (afterChange && !changed) continue;
    const before = current;
    current = run(before, options);
    changed = current !== before;
  }
  return current;
}
