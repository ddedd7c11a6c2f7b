import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';

/*
 * What expressions are besides the steps that compute them, for whoever cannot take these steps: ONNX
 * knows the functions of mathematics, and nothing of the bits of floats.
 */

/** An operator of ONNX, of expressions. */
export interface KnownFunction {
  readonly onnx: string;
  readonly operands: readonly Expr[];
}

const forms = new WeakMap<Expr, KnownFunction | (() => Expr)>();

/** Says that `expr` is what an operator of ONNX gives for the operands; returns it. */
export function knownAs(onnx: string, operands: readonly Expr[], expr: Expr): Expr {
  forms.set(expr, { onnx, operands });
  return expr;
}

/** What an operator of ONNX gives for the operands: for plain forms only, since nothing computes it here. */
export function foreign(onnx: string, operands: readonly Expr[]): Expr {
  return knownAs(onnx, operands, e.variable(onnx, operands[0].type.scalar));
}

/** Says how to compute `expr`, but for rounding, without the bits of floats; returns it. */
export function withPlainForm(expr: Expr, plain: () => Expr): Expr {
  forms.set(expr, plain);
  return expr;
}

/** What has been said of an expression. */
export function formOf(expr: Expr): KnownFunction | (() => Expr) | undefined {
  return forms.get(expr);
}
