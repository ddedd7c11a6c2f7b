import { type Dim, isStatic } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { HloWriter } from '../language/writer.js';
import type { HloSpread } from './expressions.js';

/** Sizes in expressions: constants, and variables for those that are no numbers. */
export class SizeVariables {
  readonly #hlo: HloWriter;
  readonly #dims: Map<Expr, Dim> = new Map();

  constructor(hlo: HloWriter) {
    this.#hlo = hlo;
  }

  /** A size as an expression, i32. */
  of(dim: Dim): Expr {
    if (isStatic(dim)) return e.i32(dim);
    const variable = e.variable('size', 'i32');
    this.#dims.set(variable, dim);
    return variable;
  }

  /** The size that an expression is; null for others. */
  dimOf(expr: Expr): Dim | null {
    return expr.kind === 'const' ? Number(expr.value) : (this.#dims.get(expr) ?? null);
  }

  /** The value of a variable made here; null for others. */
  meaning(variable: Expr): HloSpread | null {
    const dim = this.#dims.get(variable);
    return dim === undefined ? null : { value: this.#hlo.size(dim), axes: [] };
  }
}
