import { addDim, type Bounds, type Dim, type DimExpr, type DimOperation, floorDivDim, fold, maxDim, minDim, mulDim, subDim } from '../../base/dim/index.js'; // prettier-ignore
import * as e from './build.js';
import { recordChoices, type SizeChoices } from './choices.js';
import type { Expr, Var } from './nodes.js';

/**
 * The sizes that one kernel needs. A static extent is a constant; every distinct symbolic one becomes an i32
 * parameter whose value the caller computes, so kernels contain no size arithmetic, and the meaning of a
 * dimension is defined in `base/dim/index.ts` alone.
 *
 * With `choices`, loops are chosen by the numbers of symbols, as if these were static.
 */
export class ExtentParameters {
  readonly #params: Map<string, { readonly dim: DimExpr; readonly param: Var }> = new Map();
  readonly #dims: Map<Var, Dim> = new Map();
  readonly #choices: SizeChoices | null;

  constructor(choices: SizeChoices | null = null) {
    this.#choices = choices;
  }

  /** The value of a dimension. */
  extent(dim: Dim): Expr {
    if (typeof dim === 'number') return e.i32(dim);
    let known = this.#params.get(dim.key);
    if (known === undefined) {
      known = { dim, param: e.variable(nameOf(dim), 'i32') };
      this.#params.set(dim.key, known);
      this.#dims.set(known.param, dim);
      const choices = this.#choices;
      if (choices !== null) {
        recordChoices(known.param, { choices, dim: (size) => this.dim(size) });
      }
    }
    return known.param;
  }

  shape(dims: readonly Dim[]): readonly Expr[] {
    return dims.map((dim) => this.extent(dim));
  }

  /** The parameters requested so far, in order. */
  get params(): readonly { readonly dim: DimExpr; readonly param: Var }[] {
    return [...this.#params.values()];
  }

  /**
   * An i32 expression as a dimension over the symbols of the program; undefined when it depends on anything
   * but sizes.
   */
  dim(expr: Expr): Dim | undefined {
    if (expr.kind === 'const') return Number(expr.value);
    if (expr.kind === 'var') return this.#dims.get(expr);
    if (expr.kind === 'unary' && expr.op === 'neg') return this.#apply(subDim, e.i32(0), expr.x);
    if (expr.kind !== 'binary') return undefined;
    switch (expr.op) {
      case 'add':
        return this.#apply(addDim, expr.a, expr.b);
      case 'sub':
        return this.#apply(subDim, expr.a, expr.b);
      case 'mul':
        return this.#apply(mulDim, expr.a, expr.b);
      case 'min':
        return this.#apply(minDim, expr.a, expr.b);
      case 'max':
        return this.#apply(maxDim, expr.a, expr.b);
      case 'div': // of sizes, which are not negative, so that truncation is the floor
        return this.#apply(floorDivDim, expr.a, expr.b);
      default:
        return undefined;
    }
  }

  #apply(build: (a: Dim, b: Dim) => Dim, a: Expr, b: Expr): Dim | undefined {
    const left = this.dim(a);
    if (left === undefined) return undefined;
    const right = this.dim(b);
    return right === undefined ? undefined : build(left, right);
  }
}

/** A size as an int32 expression of its symbols: for callers, who compute what kernels are passed. */
export function sizeExpression(dim: Dim, symbol: (name: string, bounds: Bounds) => Expr): Expr {
  return fold<Expr>(dim, {
    constant: (value) => e.i32(value),
    symbol,
    add: (a, b) => e.add(a, b),
    mul: (a, b) => e.mul(a, b),
    operation: (kind, a, b) => sizeOperations[kind](a, b),
  });
}

/** Of sizes, which are not negative, so that truncation is the floor. */
const sizeOperations: Readonly<Record<DimOperation, (a: Expr, b: Expr) => Expr>> = {
  floorDiv: e.div,
  mod: e.rem,
  min: e.min,
  max: e.max,
};

function nameOf(dim: DimExpr): string {
  return dim.key.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^_|_$/g, '') || 'size';
}
