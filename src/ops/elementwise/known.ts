import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';

/*
 * What expressions are besides the steps that compute them, for whoever cannot take these steps: ONNX
 * knows the functions of mathematics, and nothing of the bits of floats.
 */

/** An expression that equals an ONNX operator. */
export interface KnownFunction {
  readonly onnx: string;
  readonly operands: readonly Expr[];
}

const forms = new WeakMap<Expr, KnownFunction | (() => Expr)>();

/** Registers that `expr` equals an ONNX operator on the operands; returns it. */
export function knownAs(onnx: string, operands: readonly Expr[], expr: Expr): Expr {
  forms.set(expr, { onnx, operands });
  return expr;
}

/** An ONNX operator on the operands as an expression: for export forms only, since nothing computes it here. */
export function foreign(onnx: string, operands: readonly Expr[]): Expr {
  return knownAs(onnx, operands, e.variable(onnx, operands[0].type.scalar));
}

/** Registers a form of `expr` without bit operations on floats, equal up to rounding; returns it. */
export function withPlainForm(expr: Expr, plain: () => Expr): Expr {
  forms.set(expr, plain);
  return expr;
}

/** The registered form of an expression. */
export function formOf(expr: Expr): KnownFunction | (() => Expr) | undefined {
  return forms.get(expr);
}
