import { type DType, isFloat, isWeak, promoteAll, type WeakKind } from '../../base/dtype.js';
import { type Dim, DimExpr } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { describeHost } from '../../ir/host.js';
import type { Value } from '../../ir/program.js';
import { Tensor } from '../../ir/types.js';
import type { Call, Declaration } from './declare.js';

/* Conversion of what operators are called with: other dtypes, and sizes as arrays. */

let castDeclaration: Declaration | undefined;

/** Registers the cast operator; called once, by the file that declares it. */
export function useForConversion(cast: Declaration): void {
  castDeclaration = cast;
}

/** The cast operator, whose attribute `dtype` is the target. */
export function conversionOperator(): Declaration {
  if (castDeclaration === undefined) throw new InternalError('no operator converts dtypes');
  return castDeclaration;
}

/** A value of a program in another dtype. */
export function castValue(value: Value, dtype: DType): Value {
  return value.program.append(conversionOperator(), [value], { dtype })[0];
}

let sizeAsArray: SizeAsArray | undefined;

/**
 * Converts a size to an array of rank 0; `like` is an array of the same program or capture, null where there
 * is none.
 */
export type SizeAsArray = (size: Dim, dtype: DType, like: Tensor | null) => Tensor;

/** Registers the conversion of sizes to operands; called once, by the file of the operator that does it. */
export function useForSizes(convert: SizeAsArray): void {
  sizeAsArray = convert;
}

/** Converts sizes among the operands to integer arrays. */
export function withSizesAsArrays(declaration: Declaration, call: Call): Call {
  if (!call.inputs.some((input) => input instanceof DimExpr)) return call;
  const dtypes = operandDTypes(declaration, call);
  const like = call.inputs.find((input) => input instanceof Tensor) ?? null;
  const inputs = call.inputs.map((input, i) =>
    input instanceof DimExpr ? sizeAsArray!(input, dtypes[i], like) : input,
  );
  return { ...call, inputs };
}

/** The dtype that each operand of a call must have. `weak`: the kind of arrays that stand for numbers. */
export function operandDTypes(
  declaration: Declaration,
  call: Call,
  weak?: (input: Tensor) => WeakKind | null,
): readonly DType[] {
  const kinds = call.inputs.map((input) => {
    if (input instanceof Tensor) return weak?.(input) ?? input.type.dtype;
    return input instanceof DimExpr ? 'weak-int' : describeHost(input, declaration.name).kind;
  });
  const { operands } = declaration;
  if (typeof operands === 'function') return operands(kinds, call.attributes);
  if (kinds.length === 0) return [];
  if (operands === 'keep') {
    let fallback: DType | undefined;
    return kinds.map((kind) => (isWeak(kind) ? (fallback ??= promoteAll(kinds)) : kind));
  }
  const common = promoteAll(kinds);
  const wanted = operands === 'float' && !isFloat(common) ? 'float32' : common;
  return kinds.map(() => wanted);
}
