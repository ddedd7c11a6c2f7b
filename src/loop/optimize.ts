import { moduleOf } from './build.js';
import type { Kernel, Module, Stmt } from './nodes.js';
import { share } from './share.js';
import { simplify } from './simplify.js';
import { unroll } from './unroll.js';
import { vectorize, type VectorOptions } from './vectorize.js';
import { mapStmt, withBody } from './visit.js';

/** The passes over one kernel, in order. */
export const kernelPasses: readonly {
  readonly name: string;
  readonly run: (kernel: Kernel, options: VectorOptions) => Kernel;
}[] = [
  { name: 'unroll', run: unroll },
  { name: 'simplify', run: simplify },
  { name: 'vectorize', run: vectorize },
  { name: 'simplify again', run: simplify },
  { name: 'share', run: share },
];

/** The kernel as the printers want it: straight, vectorised, simplified, nothing computed twice. */
export function optimize(kernel: Kernel, options: VectorOptions): Kernel {
  return kernelPasses.reduce((current, pass) => pass.run(current, options), kernel);
}

/** Optimises every kernel; calls go to the optimised callees. */
export function optimizeModule(module: Module, options: VectorOptions): Module {
  const optimized = new Map<Kernel, Kernel>();
  const redirect = (stmt: Stmt): Stmt =>
    stmt.kind === 'call'
      ? { ...stmt, kernel: optimized.get(stmt.kernel) ?? stmt.kernel }
      : mapStmt(stmt, { stmt: redirect });
  for (const kernel of module.kernels) {
    optimized.set(kernel, optimize(withBody(kernel, redirect(kernel.body)), options));
  }
  return moduleOf([...optimized.values()]);
}
