import { InternalError } from '../base/errors.js';
import type {
  BinaryExpr,
  Bitcast,
  CastExpr,
  Const,
  Expr,
  UnaryExpr,
  Var,
} from '../loop/language/nodes.js';
import { formOf } from '../ops/elementwise/known.js';

/**
 * Operations of a format in which expressions of one element are written for all elements together: `V` is a value
 * of the format, `S` a value with the axes along which it varies.
 */
export interface ExpressionFormat<V, S> {
  constant(expr: Const): S;
  variable(variable: Var): S;
  /** Computes a value from those of several parts, along the axes of all of them. */
  combine(parts: readonly S[], compute: (values: readonly V[]) => V): S;
  /** Function that an expression is known as (`ops/elementwise/known.ts`), by its name in ONNX. */
  known(name: string, values: readonly V[]): V;
  unary(expr: UnaryExpr, x: V): V;
  binary(expr: BinaryExpr, a: V, b: V): V;
  select(condition: V, a: V, b: V): V;
  cast(expr: CastExpr, x: V): V;
  bitcast(expr: Bitcast, write: (part: Expr) => S): S;
}

/** Writes loop IR expressions of one element in a format, each subexpression once. */
export class ExpressionWriter<V, S> {
  readonly #format: ExpressionFormat<V, S>;
  readonly #done: Map<Expr, S> = new Map();

  constructor(format: ExpressionFormat<V, S>) {
    this.#format = format;
  }

  write(expr: Expr): S {
    let written = this.#done.get(expr);
    if (written === undefined) this.#done.set(expr, (written = this.#new(expr)));
    return written;
  }

  #new(expr: Expr): S {
    const format = this.#format;
    const form = formOf(expr);
    if (typeof form === 'function') return this.write(form());
    if (form !== undefined) {
      return this.#combine(form.operands, (values) => format.known(form.onnx, values));
    }
    switch (expr.kind) {
      case 'const':
        return format.constant(expr);
      case 'var':
        return format.variable(expr);
      case 'unary':
        return this.#combine([expr.x], ([x]) => format.unary(expr, x));
      case 'binary':
        return this.#combine([expr.a, expr.b], ([a, b]) => format.binary(expr, a, b));
      case 'select':
        return this.#combine([expr.condition, expr.a, expr.b], ([condition, a, b]) =>
          format.select(condition, a, b),
        );
      case 'cast':
        return this.#combine([expr.x], ([x]) => format.cast(expr, x));
      case 'bitcast':
        return format.bitcast(expr, (part) => this.write(part));
      default:
        throw new InternalError(`an element is computed with ${expr.kind}`);
    }
  }

  #combine(parts: readonly Expr[], compute: (values: readonly V[]) => V): S {
    return this.#format.combine(
      parts.map((part) => this.write(part)),
      compute,
    );
  }
}
