import { type Dim, type DimBindings, evaluateDim, symbolsOf } from '../../base/dim/index.js';
import type { Expr, Var } from './nodes.js';

/** A result of `chooseBy`, which is compared. */
export type Choice = string | number | boolean | null;

/** A choice of loops: a function of sizes, null for those that are unknown. */
export type Choose<T extends Choice> = (...sizes: (number | null)[]) => T;

/**
 * The choices of loops that one kernel made by the numbers of sizes that it takes as parameters. Law: the kernel is
 * what it would be for all sizes for which the choices are the same.
 */
export class SizeChoices {
  readonly #sizes: DimBindings;
  readonly #made: {
    readonly dims: readonly (Dim | null)[];
    readonly choose: Choose<Choice>;
    readonly chosen: Choice;
  }[] = [];

  /** @param sizes The numbers to choose by, by the names of the symbols that the kernel takes in their place. */
  constructor(sizes: DimBindings) {
    this.#sizes = sizes;
  }

  /** Chooses by sizes, and records the choice. */
  choose<T extends Choice>(dims: readonly (Dim | null)[], choose: Choose<T>): T {
    const chosen = choose(...numbersOf(dims, this.#sizes));
    this.#made.push({ dims, choose, chosen });
    return chosen;
  }

  /** True when all choices are the same for other sizes. */
  areSameFor(sizes: DimBindings): boolean {
    return this.#made.every(({ dims, choose, chosen }) =>
      Object.is(choose(...numbersOf(dims, sizes)), chosen),
    );
  }
}

function numbersOf(dims: readonly (Dim | null)[], sizes: DimBindings): (number | null)[] {
  return dims.map((dim) => {
    if (dim === null || typeof dim === 'number') return dim;
    for (const name of symbolsOf(dim)) if (!sizes.has(name)) return null;
    return evaluateDim(dim, sizes);
  });
}

/** A kernel whose choices are recorded. */
interface ChoosingKernel {
  readonly choices: SizeChoices;
  /** An expression as a dimension; undefined for none. */
  dim(size: Expr): Dim | undefined;
}

const kernels = new WeakMap<Var, ChoosingKernel>();

/** Lets `chooseBy` know the number of a kernel's parameter. */
export function recordChoices(param: Var, kernel: ChoosingKernel): void {
  kernels.set(param, kernel);
}

/**
 * Chooses loops by the numbers of sizes: those of constants, and those of parameters that stand for a number while a
 * kernel is made for several (`SizeChoices`). All else, such as a size that differs from run to run, is null.
 */
export function chooseBy<T extends Choice>(sizes: readonly Expr[], choose: Choose<T>): T {
  const kernel = sizes.map(kernelOf).find((found) => found !== undefined);
  if (kernel === undefined) return choose(...sizes.map(valueOf));
  // What is known of a size does not depend on those beside it.
  const dims = sizes.map((size) =>
    kernelOf(size) === undefined ? valueOf(size) : (kernel.dim(size) ?? null),
  );
  return kernel.choices.choose(dims, choose);
}

/** True for a parameter that stands for a number. */
export function isChosenBy(param: Var): boolean {
  return kernels.has(param);
}

function valueOf(size: Expr): number | null {
  return size.kind === 'const' ? Number(size.value) : null;
}

function kernelOf(size: Expr): ChoosingKernel | undefined {
  if (size.kind === 'var') return kernels.get(size);
  return size.kind === 'binary' ? (kernelOf(size.a) ?? kernelOf(size.b)) : undefined;
}
