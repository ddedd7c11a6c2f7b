import { isNarrowFloat, wideFloat } from '../../base/dtype.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import type { Declaration, Family, Gradient, GradientContext } from './declare.js';
import type { DecomposeContext, Lowering } from './lowering.js';

/*
 * Operators that are written in other operators, and gradients, which all are, round after each of them. In
 * 16 bits such a chain overflows and cancels: the square of 300 is no float16, and of 1000 and 1004 bfloat16
 * knows no mean. So it is computed in float32, from operands to results, which are rounded once.
 */

/**
 * Precision in which the decomposition and the gradient of an operator compute for 16-bit floats: `float32`,
 * or `own`, which is right where elements are moved and compared, or where a kernel does all the work.
 */
export type Precision = 'float32' | 'own';

/** The default precision of operators. */
export function defaultPrecision(family: Family, { kind }: Lowering): Precision {
  const isComputed =
    family === 'elementwise' ||
    family === 'reduction' ||
    (family === 'normalization' && kind === 'decompose');
  return isComputed ? 'float32' : 'own';
}

/** Calls of operators on either kind of tensor. */
export interface Calls {
  /** Converts to another dtype; the tensor itself when it has that dtype. */
  convert<T extends Tensor>(x: T, dtype: TensorType['dtype']): T;
  /** The results of the current operator on operands of another dtype. */
  again<T extends Tensor>(inputs: readonly T[], attributes: Attributes): readonly T[];
}

/** Makes the lowering and the gradient of an operator compute 16-bit floats in float32. */
export function inFloat32(
  { lowering, gradient }: Pick<Declaration, 'lowering' | 'gradient'>,
  calls: Calls,
): Pick<Declaration, 'lowering' | 'gradient'> {
  return {
    lowering:
      lowering.kind !== 'decompose'
        ? lowering
        : {
            ...lowering,
            decompose: <T extends Tensor>(context: DecomposeContext<T, Attributes>) => {
              const { inputs, outputTypes } = context;
              if (!inputs.some(isNarrow)) return lowering.decompose(context);
              const wide = { ...context, ...widened(inputs, calls), outputTypes: outputTypes.map(widenedType) }; // prettier-ignore
              return lowering
                .decompose(wide)
                .map((result, k) => calls.convert(result, outputTypes[k].dtype));
            },
          },
    gradient: gradient === 'none' ? gradient : gradientInFloat32(gradient, calls),
  };
}

function gradientInFloat32(rule: Gradient, calls: Calls): Gradient {
  return <T extends Tensor>(context: GradientContext<T, Attributes>) => {
    const { inputs, outputs, grads, attributes } = context;
    if (!inputs.some(isNarrow)) return rule(context);
    const wide = widened(inputs, calls);
    let again: readonly T[] | undefined;
    const made = rule({
      ...context,
      ...wide,
      // The rounded results are recomputed in float32, if a rule reads them.
      outputs: lazily(outputs, (_, k) => (again ??= calls.again(wide.inputs, attributes))[k]),
      grads: grads.map((grad) => grad && calls.convert(grad, wideFloat(grad.type.dtype))),
    });
    return made.map((grad, k) => grad && calls.convert(grad, inputs[k].type.dtype));
  };
}

function widened<T extends Tensor>(inputs: readonly T[], { convert }: Calls): { inputs: T[] } {
  return { inputs: inputs.map((x) => convert(x, wideFloat(x.type.dtype))) };
}

function isNarrow({ type: { dtype } }: Tensor): boolean {
  return isNarrowFloat(dtype);
}

function widenedType({ dtype, shape }: TensorType): TensorType {
  return { dtype: wideFloat(dtype), shape };
}

/** A list whose entries are computed at first access. */
function lazily<T>(list: readonly T[], make: (entry: T, k: number) => T): readonly T[] {
  const result: T[] = [];
  list.forEach((entry, k) => {
    Object.defineProperty(result, k, { get: () => make(entry, k), enumerable: true });
  });
  return result;
}
