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
 * In which precision the decomposition and the gradient of an operator compute for floats of 16 bits:
 * `float32`, or `own`, which is right where elements are moved and compared, or where a kernel has done all.
 */
export type Precision = 'float32' | 'own';

/** The precision of operators that do not say. */
export function defaultPrecision(family: Family, { kind }: Lowering): Precision {
  const isComputed =
    family === 'elementwise' ||
    family === 'reduction' ||
    (family === 'normalization' && kind === 'decompose');
  return isComputed ? 'float32' : 'own';
}

/** How operators are called on either kind of tensor. */
export interface Calls {
  /** The elements as another dtype; the tensor itself where that is its own. */
  convert<T extends Tensor>(x: T, dtype: TensorType['dtype']): T;
  /** The results of the operator at hand, on operands of another dtype than were given. */
  again<T extends Tensor>(inputs: readonly T[], attributes: Attributes): readonly T[];
}

/** The lowering and the gradient of an operator, computing in float32 what has 16 bits. */
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
      // What was rounded is computed again, where a rule asks for it at all.
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

/** A list whose entries are made when they are looked at. */
function lazily<T>(list: readonly T[], make: (entry: T, k: number) => T): readonly T[] {
  const result: T[] = [];
  list.forEach((entry, k) => {
    Object.defineProperty(result, k, { get: () => make(entry, k), enumerable: true });
  });
  return result;
}
