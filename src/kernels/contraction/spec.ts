import type { Expr, Scalar, Stmt } from '../../loop/language/nodes.js';
import type { PackedAllocator, KernelContext } from '../../ops/declare/lowering.js';

/**
 * A batch of matrix products in general form: for every `b < batch`, `i < m`, `j < n`
 *
 * store(b, i, j, sum over kk < k of a(b, i, kk) * b(b, kk, j))
 *
 * The operands are callbacks, so a caller states *what* an element is (a load, a load through an im2col
 * index, a fused chain of elementwise operators) and the contraction alone decides *when* it is read: in
 * place, or once into a packed panel.
 *
 * Contract of the callbacks:
 * - Indices are i32, in bounds, and either scalars or vectors of lanes; scalars and vectors may meet in one
 *   call. The result has as many lanes as the widest index, or one where it is the same in all. Lanes run along
 *   one index at a time, and their first is a multiple of their number.
 * - `a` and `b` are pure and return `scalar`. They may be called for the same element any number of times.
 * - `store` receives the finished sum in `scalar`; every element is stored exactly once, after all reads of
 *   its sum. The epilogue of the product (bias, activation, conversion) belongs in it. It must not write what
 *   `a` or `b` read.
 * - Any extent may be 0: with `k` 0 every stored sum is 0; with another 0 nothing is stored.
 */
export interface Contraction {
  /** Source of scratch memory, target of the kernel, and whether its results are divided. */
  readonly context: Pick<KernelContext<never>, 'scratch' | 'target' | 'isDivided'>;
  /** The type of operands, products and sums. Integer sums wrap. */
  readonly scalar: Exclude<Scalar, 'bool'>;
  readonly batch: Expr;
  readonly m: Expr;
  readonly n: Expr;
  readonly k: Expr;
  a(batch: Expr, i: Expr, k: Expr): Expr;
  b(batch: Expr, k: Expr, j: Expr): Expr;
  store(batch: Expr, i: Expr, j: Expr, value: Expr): Stmt;
  /** Allocator of memory for data packed from `b` alone; null or absent where `b` changes in every run. */
  readonly rightKeeper?: PackedAllocator | null;
}

/** The contraction of the transposes: columns become rows. */
export function transposed(spec: Contraction): Contraction {
  return {
    ...spec,
    rightKeeper: null,
    m: spec.n,
    n: spec.m,
    a: (batch, i, k) => spec.b(batch, k, i),
    b: (batch, k, j) => spec.a(batch, j, k),
    store: (batch, i, j, value) => spec.store(batch, j, i, value),
  };
}
