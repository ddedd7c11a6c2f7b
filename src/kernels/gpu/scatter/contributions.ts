import type { DType } from '../../../base/dtype.js';
import * as e from '../../../loop/language/build.js';
import { addWithError } from '../../../loop/language/compensation.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { storageOf } from '../../../ops/elements.js';
import { wideDType } from '../../../ops/loops.js';

/** The sum of the contributions to one element, in the order in which they arrive. */
export class Contributions {
  readonly #total: Var;
  readonly #error: Var | null;
  readonly #isBool: boolean;

  /** `isCarried`: what additions of floats round away is added in the end. */
  constructor(dtype: DType, isCarried: boolean) {
    const scalar = e.loadedScalar(storageOf(wideDType(dtype)));
    this.#isBool = dtype === 'bool';
    this.#total = e.variable('total', scalar);
    const isFloat = scalar === 'f32' || scalar === 'f64';
    this.#error = isCarried && isFloat ? e.variable('error', scalar) : null;
  }

  /** Declares the locals; `start`, in any scalar, is what contributions are added to. */
  begin(start: Expr): readonly Stmt[] {
    const { scalar } = this.#total.type;
    return [
      e.declare(this.#total, e.cast(scalar, start)),
      ...(this.#error === null ? [] : [e.declare(this.#error, e.constant(scalar, -0))]),
    ];
  }

  /** Adds a contribution; of bool `or`. */
  add(value: Expr): Stmt {
    const total = this.#total;
    const arriving = e.cast(total.type.scalar, value);
    if (this.#isBool) return e.assign(total, e.or(total, arriving));
    return this.#error === null
      ? e.assign(total, e.add(total, arriving))
      : addWithError(total, this.#error, arriving);
  }

  /** Replaces what has arrived. */
  set(value: Expr): Stmt {
    return e.assign(this.#total, e.cast(this.#total.type.scalar, value));
  }

  get result(): Expr {
    return this.#error === null ? this.#total : e.add(this.#total, this.#error);
  }
}
