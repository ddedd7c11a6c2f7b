import { moduleOf } from '../language/build.js';
import { KernelCache } from './cache.js';
import type { Expr, Kernel, Module, Stmt } from '../language/nodes.js';
import type { VectorOptions } from './vectorize.js';
import { calledKernels, mapStmt, ownStmts, withBody } from '../language/visit.js';

/**
 * Optimizes every kernel; calls go to the optimized callees. Callees of one structure become one kernel,
 * which may come from `cache` and then keeps its name there. Kernels that no other calls are the module's
 * entry points: they stay, under their own names.
 */
export function optimizeModule(
  module: Module,
  options: VectorOptions,
  cache: KernelCache = new KernelCache(),
): Module {
  const called = calledKernels(module);
  const names = new Names(module.kernels.filter((kernel) => !called.has(kernel)));
  const results = new Map<Kernel, Kernel>();
  const callees = new Map<Kernel, Kernel>();
  const redirect = (stmt: Stmt): Stmt => {
    if (stmt.kind !== 'call') return mapStmt(stmt, { stmt: redirect });
    return { ...stmt, kernel: results.get(stmt.kernel) ?? stmt.kernel };
  };
  for (const kernel of module.kernels) {
    const redirected = withBody(kernel, redirect(kernel.body));
    const optimized = onlyCalls(kernel.body) ? redirected : cache.optimize(redirected, options);
    if (!called.has(kernel)) {
      results.set(kernel, named(optimized, kernel.name));
      continue;
    }
    let callee = callees.get(optimized);
    if (callee === undefined) {
      callee = named(optimized, names.free(optimized.name));
      callees.set(optimized, callee);
    }
    results.set(kernel, callee);
  }
  return moduleOf([...new Set(results.values())]);
}

/**
 * True for a statement that only calls kernels with constants, variables and loads from fixed addresses,
 * possibly in loops and branches, as a `main` does: there is nothing to optimize.
 */
function onlyCalls(stmt: Stmt): boolean {
  if (stmt.kind === 'call') return stmt.args.every(isAtHand);
  return stmt.kind !== 'store' && ownStmts(stmt).every(onlyCalls);
}

function isAtHand(arg: Expr): boolean {
  if (arg.kind === 'load') return arg.index.kind === 'const';
  return arg.kind === 'const' || arg.kind === 'var';
}

function named(kernel: Kernel, name: string): Kernel {
  return kernel.name === name ? kernel : { ...kernel, name };
}

/** The names of a module. Kernels from the cache may have a name that is taken here. */
class Names {
  readonly #taken: Set<string>;

  constructor(kernels: readonly Kernel[]) {
    this.#taken = new Set(kernels.map(({ name }) => name));
  }

  free(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#taken.has(name); count++) name = `${wanted}_${count}`;
    this.#taken.add(name);
    return name;
  }
}
