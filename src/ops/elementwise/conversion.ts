import * as attr from '../../base/attribute.js';
import { type DType, isFloat } from '../../base/dtype.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
  useForConversion,
} from '../declare.js';
import { inferElementwise } from '../infer.js';
import { computeScalar, elementwise } from '../lowering.js';

/** `cast(x, dtype)`. */
export type Cast = <T extends Tensor = DefaultTensor>(x: Input<T>, dtype: DType) => T;

/**
 * The elements as another dtype. To a float: rounded to nearest, ties to even. Float to integer:
 * truncated towards zero; beyond the range the nearest end, and NaN gives 0 (defined, unlike C's, and
 * the same on every device). Integer to a narrower integer keeps the low bits. To bool: `x != 0`,
 * so NaN is true; from bool: 0 or 1.
 */
export const cast: OperatorFunction<Cast> = operator({
  name: 'cast',
  family: 'elementwise',
  attributes: { dtype: attr.dtype },
  operands: 'keep',
  call: (x, dtype) => ({ inputs: [x], attributes: { dtype } }),
  infer: (context) => inferElementwise('cast', context.attributes.dtype)(context),
  gradient: ({ inputs: [x], grads: [g] }) => [
    isFloat(x.type.dtype) ? cast(g!, x.type.dtype) : null,
  ],
  lowering: elementwise<{ readonly dtype: DType }>(
    ([x], { inputs: [input], attributes: { dtype } }) =>
      e.cast(computeScalar(dtype), isFloat(input.dtype) ? saturate(x, dtype) : x),
  ),
  samples: [
    { args: [tensor(['n', 2]), 'float64'] },
    { args: [tensor(['n'], { dtype: 'float64' }), 'float16'] },
    { args: [tensor(['n'], { dtype: 'float32', low: -300, high: 300 }), 'uint8'] },
    { args: [tensor(['n'], { dtype: 'int32' }), 'int64'] },
    { args: [tensor(['n'], { dtype: 'int32' }), 'bool'] },
    { args: [tensor(['n'], { dtype: 'bool' }), 'float32'] },
  ],
});

const narrow: Partial<Record<DType, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
};

/** Floats held to the range of an integer narrower than its compute type; that one saturates itself. */
function saturate(x: Expr, dtype: DType): Expr {
  const range = narrow[dtype];
  return range === undefined ? x : e.min(e.max(x, range[0]), range[1]);
}

useForConversion(cast.declaration);
